/**
 * Copies what a container has written. The disk holds owners as the container sees them, so the copy has them, too (node-paths.ts).
 *
 * `cp` shares blocks where the file system can (XFS, btrfs) and keeps holes; nothing else is done while the pod stands still.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ChildAbort } from "#lib/abortable.ts";
import { CommandError, runCommand } from "#engines/embedded/node/linux/run-command.ts";

/** Longer than this a sandbox is not held up. */
const longestMs = 120_000;
const patience = { quietMs: 30_000, longestMs };

/** `writable` is the folder of rootfs/root-file-system.ts: `root`, and for the image `host` also `usr`. */
export async function copyUpper(writable: string, folder: string, signal: AbortSignal): Promise<void> {
  await copyInto(join(writable, "root"), folder, signal);
  const usr = join(writable, "usr");
  if (existsSync(usr) && readdirSync(usr).length > 0) await copyInto(usr, join(folder, "usr"), signal);
}

async function copyInto(from: string, to: string, signal: AbortSignal): Promise<void> {
  try {
    const flags = ["--archive", "--one-file-system", "--no-target-directory", "--reflink=auto", "--sparse=auto"];
    await runCommand(["cp", ...flags, "--", from, to], { signal, patience });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof CommandError)) throw error;
    const [first = ""] = error.stderr.split("\n");
    throw new Error(`the files of the sandbox could not be copied: ${first.replaceAll(from, "").replaceAll(to, "")}`, { cause: error });
  }
}

interface CopyUnderWay {
  readonly abort: ChildAbort;
  readonly over: Promise<void>;
}

/** Copies end as soon as what they are of is to go: an end does not wait for a copy that is of no use any more. */
export class CopiesUnderWay {
  readonly #copies = new Map<string, Set<CopyUnderWay>>();

  async run<T>(pod: string, signal: AbortSignal, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    using abort = new ChildAbort(signal);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const copy: CopyUnderWay = { abort, over };
    const own = this.#copies.get(pod) ?? new Set();
    this.#copies.set(pod, own.add(copy));
    try {
      return await work(abort.signal);
    } finally {
      own.delete(copy);
      if (own.size === 0) this.#copies.delete(pod);
      resolve();
    }
  }

  /** Resolves when none is under way. */
  async over(pod: string): Promise<void> {
    for (let own = this.#copies.get(pod); own !== undefined; own = this.#copies.get(pod)) {
      await Promise.all(Array.from(own, (copy) => copy.over));
    }
  }

  end(pod: string): void {
    for (const { abort } of this.#copies.get(pod) ?? []) abort.abort(new Error("the sandbox has ended"));
  }

  endAll(): void {
    for (const pod of this.#copies.keys()) this.end(pod);
  }
}
