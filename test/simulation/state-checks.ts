/** What holds between any two steps, and what must hold in the end, over all that there is. */
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { isClaimed, poolOf, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { HistoryStore } from "#store/history-store.ts";
import type { Judge } from "./judge.ts";
import type { Ledger } from "./ledger.ts";
import type { SimulatedNode } from "./node.ts";
import { type PoolGoal, versionKey } from "./pools.ts";
import { nameOf } from "./pod-monitor.ts";
import { isLiving } from "./replica-watch.ts";

export interface StateDeps {
  readonly ledger: Ledger;
  readonly judge: Judge;
  readonly node: SimulatedNode;
  readonly pods: () => readonly Pod[];
  readonly now: () => number;
  /** Whether the pool's Env has all the pods that it may have, so that the pool gets none. */
  readonly isEnvFull: (pool: string) => boolean;
}

export function checkState({ ledger, judge, node, pods, now }: StateDeps): void {
  const carriers = new Map<string, Pod>();
  for (const pod of pods()) {
    const id = sandboxIdOf(pod);
    if (id === undefined) continue;
    const other = carriers.get(id);
    if (other !== undefined) judge.violate("I1", `${id} is on ${nameOf(pod)} and on ${nameOf(other)}`);
    carriers.set(id, pod);
  }
  for (const { id, podUid, request } of ledger.held()) {
    judge.hold("I3", carriers.has(id) || ledger.records.has(id), () => `${id} is on no pod and not in the history`);
    const container = node.pod(podUid)?.container;
    const isServed = container === undefined || container.armedFor === id || ledger.wasHit(podUid);
    judge.hold(
      "I11",
      isServed,
      () => `${id} of ${request?.name ?? ""} runs in a container that is armed for ${container?.armedFor ?? "nobody"}`,
    );
  }
  for (const request of ledger.requests) {
    const isLate = request.state === "pending" && !request.isExcused && now() > request.endsByMs;
    judge.hold("I9", !isLate, () => `${request.name} was to end at ${request.endsByMs} and still waits`);
  }
}

/** Undefined if the final state is correct; otherwise a description for the caller. */
export function whyNotSettled({ ledger, pods, isEnvFull }: StateDeps, goals: ReadonlyMap<string, PoolGoal>): string | undefined {
  const waiting = ledger.requests.find(({ state }) => state === "pending");
  if (waiting !== undefined) return `I9: ${waiting.name} still waits`;
  for (const pod of pods()) {
    const why = whyPodNotSettled(ledger, pod);
    if (why !== undefined) return why;
  }
  const orphan = pods().find((pod) => !goals.has(poolOf(pod) ?? ""));
  if (orphan !== undefined) return `I7: ${nameOf(orphan)} is there, and its pool was deleted`;
  for (const [pool, { replicas, version }] of goals) {
    const there = pods().filter((pod) => poolOf(pod) === pool && isLiving(pod));
    // Claimed pods stay, however few are wanted (I4).
    const right = Math.max(replicas, there.filter(isClaimed).length);
    const old = there.find((pod) => !isClaimed(pod) && pod.metadata.annotations?.[versionKey] !== String(version));
    if (old !== undefined) return `I6: ${nameOf(old)} is idle and of an earlier template`;
    // A sibling may have sandboxes beyond a maximum that was lowered: these stay, and count.
    if (there.length !== right && !(there.length < right && isEnvFull(pool)))
      return `I6: pool ${pool} has ${there.length} pods instead of ${right}`;
  }
  const missing = [...ledger.sandboxes.values()].find(({ id, hasEnded }) => hasEnded && !ledger.records.has(id));
  return missing === undefined ? undefined : `I3: ${missing.id} has ended and there is no record`;
}

function whyPodNotSettled(ledger: Ledger, pod: Pod): string | undefined {
  if (pod.metadata.deletionTimestamp !== undefined) return `I7: ${nameOf(pod)} is being deleted and stays`;
  const phase = sandboxPhaseOf(pod);
  if (pod.metadata.annotations?.[annotationKeys.leaving] !== undefined) return `I7: ${nameOf(pod)} is closed to claims and stays`;
  if (phase === "idle") return isReady(pod) ? undefined : `I6: ${nameOf(pod)} is idle and not ready`;
  if (isClaimElsewhere(pod)) return `I7: the claim of ${nameOf(pod)} stands beside it and stays there`;
  return phase === "running" ? whyNotSomebodys(ledger, pod) : `I7: ${nameOf(pod)} is ${phase ?? "in no phase"} and stays so`;
}

function whyNotSomebodys(ledger: Ledger, pod: Pod): string | undefined {
  const id = sandboxIdOf(pod) ?? "";
  const sandbox = ledger.sandboxes.get(id);
  if (sandbox?.isEndTold === true) return `I3: ${id} was told to have ended and lives`;
  // A sandbox that was armed for a request whose answer was lost still exists, and lives until its time is over.
  const { state, isAbandoned = false } = sandbox?.request ?? {};
  return state === "answered" || state === "lost" || isAbandoned
    ? undefined
    : `I5: ${nameOf(pod)} carries ${id}, and its client was told that it gets none`;
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
}

/** Every sandbox that ended has exactly one record, and there is none of anything else (I3). */
export async function checkHistory({ ledger, judge }: StateDeps, history: HistoryStore, wait: () => Promise<void>): Promise<void> {
  // One may have ended at this very moment, its time being over.
  const isMissing = (): boolean => [...ledger.sandboxes.values()].some(({ id, hasEnded }) => hasEnded && !ledger.records.has(id));
  for (let tries = 0; isMissing() && tries < 6; tries++) await wait();
  const { records } = await history.search({ scope: { kind: "admin" }, limit: 1000 });
  const counts = new Map<string, number>();
  for (const { sandboxId } of records) counts.set(sandboxId, (counts.get(sandboxId) ?? 0) + 1);
  for (const { id, hasEnded } of ledger.sandboxes.values()) {
    const wanted = hasEnded ? 1 : 0;
    judge.hold("I3", (counts.get(id) ?? 0) === wanted, () => `${id} has ${counts.get(id) ?? 0} records instead of ${wanted}`);
    counts.delete(id);
  }
  judge.hold("I3", counts.size === 0, () => `there are records of ${[...counts.keys()].join(", ")}, which never were`);
}
