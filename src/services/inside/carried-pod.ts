/**
 * The pod of a sandbox as the server has it, for requests that read or run something in it. A cache may be late, and the pod may carry another sandbox by
 * then: a log or command would reach that one (I8).
 */
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { type Caller, owns } from "#services/caller.ts";
import { type FindDeps, livePod } from "#services/reading/find-sandbox.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";

export interface CarriedDeps extends FindDeps {
  readonly client: Pick<ObjectClient, "get" | "list">;
  readonly cache: Pick<SandboxCache, "podsOfSandbox" | "refreshSandbox" | "readPod" | "pods">;
}

/** The owner's sandbox and the purpose, for error messages. */
export interface Wanted {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly wish: string;
}

export async function carriedPod(deps: CarriedDeps, { caller, sandboxId, wish }: Wanted, signal?: AbortSignal): Promise<Pod> {
  const cached = await livePod(deps, caller, sandboxId, wish);
  return currentPod(deps, { caller, sandboxId, wish }, cached, signal);
}

/** The pod as the server has it now, if it still carries the sandbox. */
export async function currentPod(deps: CarriedDeps, wanted: Wanted, seen: Pod, signal?: AbortSignal): Promise<Pod> {
  const { caller, sandboxId, wish } = wanted;
  const pod = await podByServer(deps, seen, signal);
  if (pod !== undefined && isClaimed(pod) && sandboxIdOf(pod) === sandboxId && owns(caller, pod)) return pod;
  throw new ServiceError("conflict", `sandbox ${sandboxId} has ended meanwhile: ${wish} is no longer possible`);
}

/** By the server's word, whatever it carries now; undefined when it is gone. */
export async function podByServer({ client, cache }: CarriedDeps, seen: Pod, signal?: AbortSignal): Promise<Pod | undefined> {
  try {
    return await cache.readPod(client, keyOf(seen), signal);
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw asServiceError(error);
  }
}

/** The container's name, once it is known to be one of the pod's; the first one when none is named. */
export function containerIn(pod: Pod, container: string | undefined): string {
  const names = pod.spec.containers.map(({ name }) => name);
  const name = container ?? names[0] ?? "";
  if (names.includes(name)) return name;
  const message = `the sandbox has no container ${JSON.stringify(name)}; it has ${names.join(", ")}`;
  throw new ServiceError("invalid_request", message, { field: "container", available: names });
}
