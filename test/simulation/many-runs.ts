/** Many seeds, on all cores: every process is handed the next few when it has done its last. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export interface Runs {
  readonly from: number;
  readonly runs: number;
  readonly steps: number;
  /** The name of a mistake that is put in. */
  readonly plant: string | undefined;
  readonly processes: number;
}

/** Seeds from `from` up to, and without, `to`. */
export interface Share {
  readonly from: number;
  readonly to: number;
  readonly steps: number;
  readonly plant: string | undefined;
}

/** A seed that fails. */
export interface Found {
  readonly seed: number;
  readonly why: string;
  readonly trace: string;
}

export interface Progress {
  readonly done: number;
  readonly found: readonly Found[];
}

/** So few that the processes end together and a failure is told soon, so many that handing them out costs nothing. */
const shareSize = 10;
/** After this many failures, stop: look for the cause instead of more failures. */
const mostFailures = 20;

/** Calls `tell` after every share, with what has been done so far. */
export async function manyRuns({ from, runs, steps, plant, processes }: Runs, tell: (progress: Progress) => void): Promise<Progress> {
  const end = from + runs;
  const found: Found[] = [];
  let next = from;
  let done = 0;
  const work = async (child: ChildProcess): Promise<void> => {
    while (next < end && found.length < mostFailures) {
      const share: Share = { from: next, to: Math.min(end, next + shareSize), steps, plant };
      next = share.to;
      found.push(...(await ask(child, share)));
      done += share.to - share.from;
      tell({ done, found });
    }
    child.disconnect();
  };
  const children = Array.from({ length: processes }, () => fork(join(import.meta.dirname, "seeds-process.ts")));
  try {
    await Promise.all(children.map(work));
  } finally {
    for (const child of children) child.kill();
  }
  return { done, found: found.toSorted((a, b) => a.seed - b.seed) };
}

async function ask(child: ChildProcess, share: Share): Promise<readonly Found[]> {
  const lost = new AbortController();
  const ended = (code: number | null): void =>
    lost.abort(new Error(`the process with seeds ${share.from} to ${share.to - 1} ended with ${code}`));
  child.once("exit", ended);
  try {
    child.send(share);
    const [found] = (await once(child, "message", { signal: lost.signal })) as [readonly Found[]];
    return found;
  } catch (error) {
    throw lost.signal.aborted ? lost.signal.reason : error;
  } finally {
    child.off("exit", ended);
  }
}
