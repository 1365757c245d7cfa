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

/** Copies end as soon as what they are of is to go: an end does not wait for a copy that is of no use any more. */
export class CopiesUnderWay {
  readonly #aborts = new Map<string, Set<ChildAbort>>();

  async run<T>(pod: string, signal: AbortSignal, work: (ended: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    using abort = new ChildAbort(signal);
    const own = this.#aborts.get(pod) ?? new Set();
    this.#aborts.set(pod, own.add(abort));
    try {
      return await work(abort.signal);
    } finally {
      own.delete(abort);
      if (own.size === 0) this.#aborts.delete(pod);
    }
  }

  end(pod: string): void {
    for (const abort of this.#aborts.get(pod) ?? []) abort.abort(new Error("the sandbox has ended"));
  }

  endAll(): void {
    for (const pod of this.#aborts.keys()) this.end(pod);
  }
}
