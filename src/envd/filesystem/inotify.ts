/** The kernel's events about watched folders (`watch.c`); Node's own watcher leaves out half of them. */
import { HelperChild } from "#envd/helper/helper-child.ts";
import { FrameFields, frameOf } from "#envd/helper/helper-frames.ts";

export const inotifyMask = {
  modify: 0x2,
  attributes: 0x4,
  movedFrom: 0x40,
  movedTo: 0x80,
  create: 0x100,
  delete: 0x200,
  isFolder: 0x40000000,
  ignored: 0x8000,
} as const;

export interface RawEvent {
  readonly watch: number;
  readonly mask: number;
  readonly cookie: number;
  readonly name: string;
}

export class Inotify {
  readonly #child: HelperChild;
  #rest: Buffer = Buffer.alloc(0);
  readonly #catchingUp: (() => void)[] = [];

  private constructor(child: HelperChild) {
    this.#child = child;
  }

  static async open(helper: string, onEvent: (event: RawEvent) => void): Promise<Inotify> {
    const child = new HelperChild({ helper, verb: "watch", hasOutput: true });
    child.process.on("error", () => {});
    const inotify = new Inotify(child);
    child.process.stdout?.on("data", (chunk: Buffer) => {
      for (const event of inotify.#parse(chunk)) {
        if (event.watch === 0) inotify.#catchingUp.shift()?.();
        else onEvent(event);
      }
    });
    const opened = await child.answer();
    if (opened === undefined || new FrameFields(opened).number() !== 0) {
      child.letGo();
      throw Object.assign(new Error("no more folders can be watched in this sandbox"), { code: "EMFILE" });
    }
    return inotify;
  }

  /** The number of the watch; undefined if the path is not a folder. */
  async watch(path: string): Promise<number | undefined> {
    const answer = await this.#child.ask(frameOf([path]));
    const number = answer === undefined ? 0 : new FrameFields(answer).number();
    return number === 0 ? undefined : number;
  }

  /** Resolves when all that has happened until now was reported. */
  async caughtUp(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#catchingUp.push(resolve);
    // The helper has ended: nothing more is reported.
    if ((await this.#child.ask(frameOf([""]))) === undefined) resolve();
    await promise;
  }

  close(): void {
    this.#child.letGo();
  }

  *#parse(chunk: Buffer): Generator<RawEvent> {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= 16) {
      const end = at + 16 + bytes.readUInt32LE(at + 12);
      if (end > bytes.length) break;
      const name = bytes.toString("utf8", at + 16, end).replace(/\0+$/, "");
      yield { watch: bytes.readInt32LE(at), mask: bytes.readUInt32LE(at + 4), cookie: bytes.readUInt32LE(at + 8), name };
      at = end;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }
}
