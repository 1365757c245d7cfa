/** Mounts volumes into containers that run, through a thread of its own (mount-thread.ts). */
import { closeSync, openSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { whyNotMountPath } from "#model/mount-path.ts";
import { copyTree, setTreeAttributes } from "#engines/embedded/node/linux/mounts.ts";
import { identify, type ProcessIdentity } from "#engines/embedded/node/linux/processes.ts";
import type { MountAnswer, MountOrder } from "./mount-thread.ts";

export interface InsideMount {
  /** PID 1 of the container. */
  readonly process: ProcessIdentity;
  /** Where the volume is mounted on this machine. */
  readonly source: string;
  readonly path: string;
  readonly readOnly: boolean;
  /** Descriptor of the slot's map for mounts, and the user outside who is root inside. */
  readonly idMap: number;
  readonly firstUid: number;
}

/** A namespace is entered in microseconds; a thread that does not come back is given up, and the next order gets a new one. */
const orderMs = 10_000;

export class MountInside implements AsyncDisposable {
  #worker: Worker | undefined;
  #next = 0;
  readonly #waiting = new Map<number, (failure: string | undefined) => void>();

  async mount({ process, source, path, readOnly, idMap, firstUid }: InsideMount): Promise<void> {
    const wrong = whyNotMountPath(path);
    if (wrong !== undefined) throw new Error(`${path} ${wrong}`);
    const opened: number[] = [];
    const hold = (descriptor: number): number => (opened.push(descriptor), descriptor);
    try {
      const tree = hold(copyTree(source));
      setTreeAttributes(tree, { flags: ["noSuid", "noDev", ...(readOnly ? (["readOnly"] as const) : [])], idMap });
      const namespace = hold(openSync(`/proc/${process.pid}/ns/mnt`, "r"));
      // Only now: the namespace is held, and if the process still is the one that is meant, so is the namespace.
      if (identify(process.pid)?.startTime !== process.startTime) throw new Error("the container has ended");
      const failure = await this.#order({ namespace, tree, path, owner: firstUid });
      if (failure !== undefined) throw new Error(failure);
    } finally {
      for (const descriptor of opened) closeSync(descriptor);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  #order(order: Omit<MountOrder, "id">): Promise<string | undefined> {
    const worker = this.#thread();
    const id = this.#next++;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const timer = setTimeout(() => void worker.terminate(), orderMs);
    this.#waiting.set(id, resolve);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser
    worker.postMessage({ ...order, id });
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(id);
    });
  }

  /** Started when the first volume is mounted. */
  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    // Without the flags of this process: some of them are about its own script.
    const worker = new Worker(new URL("./mount-thread.ts", import.meta.url), { execArgv: [] });
    this.#worker = worker;
    worker.unref();
    worker.on("message", ({ id, failure }: MountAnswer) => this.#waiting.get(id)?.(failure));
    const ended = (why: string): void => {
      if (this.#worker === worker) this.#worker = undefined;
      for (const tell of this.#waiting.values()) tell(why);
    };
    worker.on("error", (error) => ended(`the thread that mounts volumes failed: ${String(error)}`));
    worker.on("exit", () => ended("the thread that mounts volumes was ended"));
    return worker;
  }
}
