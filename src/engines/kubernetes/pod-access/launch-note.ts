/** Takes what the launcher says of itself off the beginning of a command's output: `\x1e{…}\x1e`. */
import type { Launched } from "./exec-command.ts";

export type LaunchNote = { readonly kind: "launched"; readonly launched: Launched } | { readonly kind: "failed"; readonly why: string };

const mark = 0x1e;
/** A note is short; whatever is longer is not one. */
const maxNoteBytes = 64 * 1024;

export class LaunchNoteReader {
  #pending: Buffer | undefined = Buffer.alloc(0);
  readonly #onNote: (note: LaunchNote) => void;

  constructor(onNote: (note: LaunchNote) => void) {
    this.#onNote = onNote;
  }

  /** What of a piece of output is the command's own. */
  take(piece: Buffer): Buffer {
    if (this.#pending === undefined) return piece;
    const all = Buffer.concat([this.#pending, piece]);
    // Something else spoke: the launcher could not be started, and what there is tells why.
    if (all.length > 0 && all[0] !== mark) return this.#end(all);
    const end = all.indexOf(mark, 1);
    if (end === -1 && all.length <= maxNoteBytes) {
      this.#pending = all;
      return Buffer.alloc(0);
    }
    const note = end === -1 ? undefined : parse(all.toString("utf8", 1, end));
    if (note === undefined) return this.#end(all);
    this.#onNote(note);
    return this.#end(all.subarray(end + 1));
  }

  #end(rest: Buffer): Buffer {
    this.#pending = undefined;
    return rest;
  }
}

function parse(text: string): LaunchNote | undefined {
  try {
    const { pid, startTime, failed } = JSON.parse(text) as { pid?: unknown; startTime?: unknown; failed?: unknown };
    if (typeof failed === "string") return { kind: "failed", why: failed };
    return typeof pid === "number" && typeof startTime === "string" ? { kind: "launched", launched: { pid, startTime } } : undefined;
  } catch {
    return undefined;
  }
}
