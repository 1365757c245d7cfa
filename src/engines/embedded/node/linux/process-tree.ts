/** A process with all of its descendants: found by asking the kernel, and killed as a whole. */
import { readdirSync } from "node:fs";
import { type Clock, endsWithin } from "#lib/clock.ts";
import { HeldProcess, identify, type ProcessIdentity, readStat } from "./processes.ts";

/** A killed process is gone within milliseconds, unless the kernel itself hangs in it. */
const endsWithinMs = 5_000;

export interface TreeOptions {
  readonly clock: Clock;
  /** Node started the root and collects it. All others are collected here, after their parents' deaths have made them our children. */
  readonly rootIsNodes: boolean;
}

/**
 * Kills a process and all of its descendants, in other sessions, process groups and pid namespaces too. Resolves when they are gone: false
 * if the kernel did not end all of them in time.
 */
export async function killTree(root: ProcessIdentity, { clock, rootIsNodes }: TreeOptions): Promise<boolean> {
  const held = stopTree(root);
  for (const one of held) one.signal("SIGKILL");
  const gone = await allEnded(held, clock);
  for (const one of held) {
    if (!rootIsNodes || one.identity.pid !== root.pid) one.readExit();
    one.release();
  }
  return gone;
}

/** Each process is stopped before its children are looked up, so that it cannot start more meanwhile. The root comes first. */
function stopTree(root: ProcessIdentity): HeldProcess[] {
  const found: HeldProcess[] = [];
  const stop = (identity: ProcessIdentity | undefined): void => {
    const held = identity === undefined ? undefined : HeldProcess.hold(identity);
    if (held === undefined) return;
    held.signal("SIGSTOP");
    found.push(held);
  };
  stop(root);
  for (let known = 0; known < found.length;) {
    const parents = new Set(found.slice(known).map(({ identity }) => identity.pid));
    known = found.length;
    for (const pid of childrenOf(parents)) stop(identify(pid));
  }
  return found;
}

/** Of all processes of the machine, those with one of these parents. */
export function childrenOf(parents: ReadonlySet<number>): number[] {
  const pids = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  return pids.filter((pid) => parents.has(readStat(pid)?.parent ?? -1));
}

function allEnded(held: readonly HeldProcess[], clock: Clock): Promise<boolean> {
  const all = Promise.all(held.map((one) => new Promise<void>((ended) => one.onEnd(ended))));
  return endsWithin(all, clock, endsWithinMs);
}
