/**
 * Takes what the launcher says of itself off the beginning of a command's output: `\x1e{…}\x1e`. One that is ready for its request says so
 * first; what comes between that and the next note is what a terminal echoes of the request.
 */
import type { StartFault } from "#kube/pod-access.ts";
import type { Launched } from "./exec-command.ts";

export type LaunchNote =
  | { readonly kind: "ready" }
  | { readonly kind: "launched"; readonly launched: Launched }
  | { readonly kind: "failed"; readonly why: string; readonly fault: StartFault };

const mark = 0x1e;
const faults: readonly StartFault[] = ["not-found", "not-executable", "user", "workingDir", "too-long"];
/** A note is short; whatever is longer is not one. */
const maxNoteBytes = 64 * 1024;

export class LaunchNoteReader {
  #pending: Buffer | undefined = Buffer.alloc(0);
  #isReady = false;
  readonly #onNote: (note: LaunchNote) => void;

  constructor(onNote: (note: LaunchNote) => void) {
    this.#onNote = onNote;
  }

  /** What of a piece of output is the command's own. */
  take(piece: Buffer): Buffer {
    if (this.#pending === undefined) return piece;
    const all = this.#withoutEcho(Buffer.concat([this.#pending, piece]));
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
    if (note.kind !== "ready") return this.#end(all.subarray(end + 1));
    this.#isReady = true;
    this.#pending = Buffer.alloc(0);
    return this.take(all.subarray(end + 1));
  }

  #withoutEcho(all: Buffer): Buffer {
    if (!this.#isReady) return all;
    const at = all.indexOf(mark);
    return at === -1 ? Buffer.alloc(0) : all.subarray(at);
  }

  #end(rest: Buffer): Buffer {
    this.#pending = undefined;
    return rest;
  }
}

function parse(text: string): LaunchNote | undefined {
  try {
    const { pid, startTime, failed, fault, ready } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    if (ready === true) return { kind: "ready" };
    if (typeof failed === "string") return { kind: "failed", why: failed, fault: faults.find((one) => one === fault) ?? "other" };
    return typeof pid === "number" && typeof startTime === "string" ? { kind: "launched", launched: { pid, startTime } } : undefined;
  } catch {
    return undefined;
  }
}
