/** What the kernel tells about watched folders, exactly; Node's own watcher leaves out half of it. */
import { StepChild } from "#envd/steps/step-child.ts";
import type { Step } from "#envd/steps/script.ts";

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

const onlyFolders = 0x1000000;
const wanted =
  inotifyMask.modify |
  inotifyMask.attributes |
  inotifyMask.movedFrom |
  inotifyMask.movedTo |
  inotifyMask.create |
  inotifyMask.delete |
  onlyFolders;

export interface RawEvent {
  readonly watch: number;
  readonly mask: number;
  readonly cookie: number;
  readonly name: string;
}

const closeOnExec = 0o2000000;
const shareDescriptors = 0x400;
const childSignal = 17;
const dieWithParent = 1;
const kill = 9;
const descriptor = 4;
const room = { room: 64 * 1024 };

/** The helper that is asked to watch and one that shares its descriptors and only passes events on. */
const beginning: readonly Step[] = [
  { call: "inotify_init1", args: [closeOnExec] },
  { call: "clone", args: [shareDescriptors | childSignal, 0, 0, 0, 0], goToIfZero: 3 },
  // The first one is done here.
  { call: "close", args: [-1], mayFail: true, goTo: 6 },
  { call: "prctl", args: [dieWithParent, kill, 0, 0, 0] },
  { call: "read", args: [descriptor, room, room.room] },
  { call: "write", args: [1, room, 0], lengthFromLast: true, goTo: 4 },
];

export class Inotify {
  readonly #child: StepChild;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(child: StepChild) {
    this.#child = child;
  }

  static async open(runner: string, onEvent: (event: RawEvent) => void): Promise<Inotify> {
    const child = new StepChild({ runner, hasOutput: true });
    child.process.on("error", () => {});
    const inotify = new Inotify(child);
    child.process.stdout?.on("data", (chunk: Buffer) => {
      for (const event of inotify.#parse(chunk)) onEvent(event);
    });
    const reply = await child.run(beginning);
    if (reply === undefined || reply.failed !== undefined) {
      child.letGo();
      throw Object.assign(new Error("no more folders can be watched in this sandbox"), { code: "EMFILE" });
    }
    return inotify;
  }

  /** The watch's number; undefined when the folder is not there, or is none. */
  async watch(path: string): Promise<number | undefined> {
    const reply = await this.#child.run([{ call: "inotify_add_watch", args: [descriptor, path, wanted], mayFail: true }], true);
    const result = reply?.results[0] ?? -1;
    return result < 0 ? undefined : result;
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
