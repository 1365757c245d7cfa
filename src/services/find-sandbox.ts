/**
 * The sandbox that a caller means. What is somebody else's takes the same way as what does not exist, to the same words (I8): the pod
 * is passed over, and the history, asked with the caller's own scope, has nothing.
 */
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { liveStatusOf } from "#sandbox/sandbox-base.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { isSandboxId } from "#store/record-key.ts";
import { type Caller, owns, scopeOf } from "./caller.ts";
import { ServiceError } from "./service-error.ts";
import { translated } from "./service-failure.ts";

export interface FindDeps {
  readonly cache: Pick<SandboxCache, "podsOfSandbox">;
  readonly history: Pick<HistoryStore, "get">;
}

export function noSuchSandbox(sandboxId: string): ServiceError {
  return new ServiceError("not_found", `there is no sandbox ${JSON.stringify(sandboxId)}`);
}

/** The caller's pod that carries the sandbox, or that did so last and has not forgotten it. */
export function findPod({ cache }: Pick<FindDeps, "cache">, caller: Caller, sandboxId: string): Pod | undefined {
  const pods = cache
    .podsOfSandbox(sandboxId)
    .filter((pod) => owns(caller, pod) && liveStatusOf(pod) !== undefined)
    .toArray();
  const claimed = pods.filter(isClaimed);
  // Whoever acted on one of them might act on the wrong one.
  if (claimed.length > 1) throw new ServiceError("conflict", `several pods say that they carry sandbox ${JSON.stringify(sandboxId)}`);
  return claimed[0] ?? pods[0];
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
  const pod = findPod(deps, caller, sandboxId);
  if (pod !== undefined && isClaimed(pod)) return pod;
  if (pod !== undefined) throw new ServiceError("conflict", `sandbox ${sandboxId} is stopping: ${wish} is not possible any more`);
  const record = await findRecord(deps, caller, sandboxId);
  if (record === undefined) throw noSuchSandbox(sandboxId);
  throw new ServiceError("conflict", `sandbox ${sandboxId} has ended (${record.status}): ${wish} is not possible any more`);
}
