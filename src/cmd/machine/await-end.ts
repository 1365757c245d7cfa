/** Waiting for a process that was told to end. */
import { readFileSync } from "node:fs";
import { type MonotonicClock, sleep } from "#lib/clock.ts";

/** How far a process has come: ticks of processor time, its children's included. Undefined when it has ended. */
export type Progress = (pid: number) => number | undefined;

export interface AwaitEndOptions {
  readonly clock: MonotonicClock;
  /** Without any progress for so long the process is stuck. */
  readonly stillMs: number;
  readonly progress?: Progress;
}

const lookEveryMs = 50;

/**
 * Resolves when the process has ended, or when it is stuck. On a slow machine an orderly end takes long, so no time limit
 * applies while the process, or a program that it waits for, still works.
 */
export async function awaitEnd(pid: number, { clock, stillMs, progress = processorTicks }: AwaitEndOptions): Promise<"ended" | "stuck"> {
  let last = progress(pid);
  let moved = clock.now();
  while (last !== undefined) {
    if (clock.now() - moved > stillMs) return "stuck";
    await sleep(clock, lookEveryMs);
    const now = progress(pid);
    if (now !== last) moved = clock.now();
    last = now;
  }
  return "ended";
}

/** Ticks of the process and of all below it, those that have ended included. */
export function processorTicks(pid: number): number | undefined {
  const own = ticksOf(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (processorTicks(child) ?? 0), own);
}

/** Fields 14 to 17 of /proc/PID/stat: user and system time, its own and that of children it has waited for. */
function ticksOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    if (state === "Z") return undefined;
    return fields.slice(10, 14).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
