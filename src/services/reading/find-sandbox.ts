/**
 * Finds the sandbox that a caller names. A foreign sandbox takes the same path as one that does not exist, and gets the same error (I8): its pod is
 * skipped, and the history is searched with the caller's own scope.
 */
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { liveStatusOf } from "#sandbox/sandbox-base.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { isSandboxId } from "#store/record-key.ts";
import { type Caller, owns, scopeOf } from "#services/caller.ts";
import { isSandboxIdOfAbout } from "#services/creating/sandbox-id.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export interface FindDeps {
  readonly client: Pick<ObjectClient, "list">;
  readonly cache: Pick<SandboxCache, "podsOfSandbox" | "refreshSandbox">;
  readonly history: Pick<HistoryStore, "get">;
  readonly clock: Pick<Clock, "now">;
}

/** Neither: there is no such sandbox for this caller. */
export interface Found {
  readonly pod?: Pod | undefined;
  readonly record?: SandboxRecord | undefined;
}

/** Watches are milliseconds late, but clocks of machines may be wrong by far. About anything older there is nothing to ask the server. */
const newsMs = 3_600_000;

export function noSuchSandbox(sandboxId: string): ServiceError {
  return new ServiceError("not_found", `there is no sandbox ${JSON.stringify(sandboxId)}`);
}

/**
 * Returns the sandbox from its pod until it has ended and its record is written; that is long before a resting pod forgets it. Afterwards from the
 * history. A sandbox that another process claimed a moment ago is found even if our cache does not show it yet.
 */
export async function findSandbox(deps: FindDeps, caller: Caller, sandboxId: string): Promise<Found> {
  const pod = findPod(deps, caller, sandboxId);
  if (pod !== undefined && (isClaimed(pod) || isDeepPaused(pod))) return { pod };
  const record = await findRecord(deps, caller, sandboxId);
  if (record !== undefined) return { record };
  if (pod !== undefined || !isSandboxIdOfAbout(deps.clock.now(), sandboxId, newsMs)) return { pod };
  await translated(deps.cache.refreshSandbox(deps.client, sandboxId));
  const newcomer = findPod(deps, caller, sandboxId);
  // It may have ended between the two looks; the record was there before its pod forgot it (I3).
  return newcomer === undefined ? { record: await findRecord(deps, caller, sandboxId) } : { pod: newcomer };
}

/** The caller's pod that carries the sandbox, or that did so last and has not forgotten it, as far as the cache knows. */
export function findPod(
  { cache }: { readonly cache: Pick<SandboxCache, "podsOfSandbox"> },
  caller: Caller,
  sandboxId: string,
): Pod | undefined {
  const pods = cache
    .podsOfSandbox(sandboxId)
    .filter((pod) => owns(caller, pod) && liveStatusOf(pod) !== undefined)
    .toArray();
  const claimed = pods.filter(isClaimed);
  // An action might otherwise reach the wrong pod.
  if (claimed.length > 1) throw new ServiceError("conflict", `several pods claim to carry sandbox ${JSON.stringify(sandboxId)}`);
  return claimed[0] ?? pods.find(isDeepPaused) ?? pods[0];
}

/** Undefined when there is none, or none of the caller's. */
export async function findRecord(
  { history }: Pick<FindDeps, "history">,
  caller: Caller,
  sandboxId: string,
): Promise<SandboxRecord | undefined> {
  // A tenant without a team has nothing, and no database need be asked for what cannot be an id.
  if ((caller.role === "tenant" && caller.team === "") || !isSandboxId(sandboxId)) return undefined;
  return translated(history.get(sandboxId, scopeOf(caller)));
}

/** The pod of a sandbox that lives. Throws not_found, or a conflict that says how far the sandbox is; `wish` is what cannot be done. */
export async function livePod(deps: FindDeps, caller: Caller, sandboxId: string, wish: string): Promise<Pod> {
  const { pod, record } = await findSandbox(deps, caller, sandboxId);
  if (pod !== undefined && isClaimed(pod)) return pod;
  if (pod !== undefined && isDeepPaused(pod)) {
    throw new ServiceError("conflict", `sandbox ${sandboxId} is paused without its memory: resume it first, then ${wish} is possible`);
  }
  if (pod !== undefined) throw new ServiceError("conflict", `sandbox ${sandboxId} is stopping: ${wish} is no longer possible`);
  if (record === undefined) throw noSuchSandbox(sandboxId);
  throw new ServiceError("conflict", `sandbox ${sandboxId} has ended (${record.status}): ${wish} is no longer possible`);
}
