/**
 * Deadlines for programs of the machine that the node waits for. A program that hangs (a lock that stays taken, a file system that does
 * not answer, a descriptor that a forgotten child holds open) must not hold up the node for ever. How long a program may take depends
 * on the machine and on what a sandbox left, so the first question is whether it still does anything: uses the processor, or reads or writes.
 */
import { readFileSync } from "node:fs";
import { abortable } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import { hasCode } from "#lib/native/files.ts";
import { childrenOf } from "./process-tree.ts";

export interface HostPatience {
  /** How long a program may do nothing at all. */
  readonly quietMs: number;
  /** How long it may take, whatever it does: far above the largest disk that `rm` or `du` walks through. */
  readonly longestMs: number;
}

const usualPatience: HostPatience = { quietMs: 60_000, longestMs: 30 * 60_000 };
/** Most programs end before the first look, so that looking costs nothing. */
const looksPerQuietTime = 4;

export interface HostWork {
  /** For the error's text. */
  readonly what: string;
  readonly clock: Clock;
  readonly patience?: HostPatience | undefined;
  /** Ends the work early. */
  readonly signal?: AbortSignal | undefined;
  /** What the program has done until now, as a text that changes while it does anything. */
  readonly progress: () => string;
  /** Kills the program with everything that it has started. It may not die: the kernel can hang in it. */
  readonly kill: () => void;
}

/** The outcome of `work`, or the reason why it was given up; then the program was killed, and is not waited for. */
export async function withinHostDeadline<T>(
  work: Promise<T>,
  { what, clock, patience = usualPatience, signal, progress, kill }: HostWork,
): Promise<T> {
  const late = new AbortController();
  const { quietMs, longestMs } = patience;
  const started = clock.now();
  let seen = "";
  let seenAt = started;
  const giveUp = (why: string): void => late.abort(new Error(`${what} ${why}, and was killed`));
  const look = (): void => {
    const now = clock.now();
    const done = progress();
    if (done !== seen) [seen, seenAt] = [done, now];
    if (now - seenAt >= quietMs) giveUp(`did nothing for ${quietMs / 1000} s`);
    else if (now - started >= longestMs) giveUp(`did not end within ${longestMs / 1000} s`);
    else timer = clock.after(quietMs / looksPerQuietTime, look);
  };
  let timer = clock.after(quietMs / looksPerQuietTime, look);
  const given = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]);
  given.addEventListener("abort", kill, { once: true });
  // What comes of a program that was given up is not asked for any more.
  work.catch(() => {});
  try {
    if (given.aborted) kill();
    return await abortable(work, given);
  } finally {
    timer.cancel();
    given.removeEventListener("abort", kill);
  }
}

/** Processor time and bytes of a process and all its descendants, by the kernel's count. */
export function progressOfTree(root: number): string {
  const tree = [root];
  for (let known = 0; known < tree.length;) {
    const parents = new Set(tree.slice(known));
    known = tree.length;
    tree.push(...childrenOf(parents));
  }
  return tree.map(progressOf).join("\n");
}

/** Fields 14 and 15 of `stat` are the time of all its threads. */
function progressOf(pid: number): string {
  const stat = textOf(`/proc/${pid}/stat`);
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return `${pid} ${user} ${system} ${textOf(`/proc/${pid}/io`)}`;
}

/** Empty for a process that has just ended, or that we may not look at. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ESRCH", "EACCES", "EPERM")) return "";
    throw error;
  }
}
