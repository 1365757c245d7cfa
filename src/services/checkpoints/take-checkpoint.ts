/** Takes a checkpoint: writes one object, and waits until the controller has finished it. No other action on the sandbox begins meanwhile. */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { isWaitError } from "#kube/wait/wait-error.ts";
import { waiting } from "#kube/wait/verdict.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import { type Checkpoint, checkpointAliasPattern, type CheckpointFailure, Checkpoints } from "#model/checkpoint.ts";
import { newCheckpointId } from "#model/checkpoint-image.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { finalizers, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Logger } from "#lib/log.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Caller } from "#services/caller.ts";
import { asWaitFailure } from "#services/changing/wait-failure.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { type FindDeps, livePod } from "#services/reading/find-sandbox.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";
import type { TakeCheckpoint } from "./checkpoint-service.ts";

export interface TakeDeps extends FindDeps {
  readonly client: Pick<ObjectClient, "list" | "create" | "delete">;
  readonly cache: SandboxCache;
  readonly abilities: Pick<EngineAbilities, "checkpoint" | "memoryCheckpoint">;
  readonly guard?: Pick<LimitGuard, "reserve"> | undefined;
  readonly log: Logger;
}

/** A copy may take two minutes, and another one may go before. */
const timeoutMs = 10 * 60_000;
const shortestTtlMs = 1000;

export async function takeCheckpoint(deps: TakeDeps, caller: Caller, command: TakeCheckpoint, signal: AbortSignal): Promise<Checkpoint> {
  checkCommand(deps, command);
  const pod = await livePod(deps, caller, command.sandboxId, "taking a checkpoint of it");
  return takeOfPod(deps, pod, command, signal);
}

/** What no sandbox would change. */
export function checkCommand({ abilities }: Pick<TakeDeps, "abilities">, { alias, ttlMs, memory = false }: TakeCheckpoint): void {
  if (alias !== undefined && !new RegExp(checkpointAliasPattern).test(alias)) {
    const rule = "lower-case letters, digits, dashes, dots and underscores, at most 63, and perhaps a colon and a tag";
    throw new ServiceError("invalid_request", `alias must be ${rule}, not ${JSON.stringify(alias)}`, { field: "alias" });
  }
  if (ttlMs !== undefined && !(ttlMs >= shortestTtlMs)) {
    throw new ServiceError("invalid_request", "ttl must be at least 1s", { field: "ttlMs" });
  }
  const able = memory ? abilities.memoryCheckpoint() : abilities.checkpoint();
  if (!able.able) throw new ServiceError("not_implemented", able.why, memory ? { field: "memory" } : {});
}

/** The caller may have the pod's sandbox. */
export async function takeOfPod(deps: TakeDeps, pod: Pod, command: TakeCheckpoint, signal: AbortSignal): Promise<Checkpoint> {
  const able = deps.abilities.checkpoint(pod.spec.nodeName);
  if (!able.able) throw new ServiceError("not_implemented", able.why);
  if (sandboxPhaseOf(pod) !== "running") {
    throw new ServiceError("conflict", "the sandbox is starting: a checkpoint can be taken once it runs", { retryAfterSeconds: 1 });
  }
  const { [labelKeys.team]: team = "", [labelKeys.user]: user } = pod.metadata.labels ?? {};
  using meanwhile = new DisposableStack();
  meanwhile.use(deps.guard?.reserve({ team, user }, { checkpoints: 1 }));
  meanwhile.use(hold(deps, pod));
  const made = await translated(deps.client.create(Checkpoints, checkpointFor(pod, command)));
  deps.cache.checkpoints.remember(made);
  try {
    return await deps.cache.checkpointTask(made).wait({ timeoutMs, signal });
  } catch (error) {
    // The caller gets an error, so no checkpoint may remain.
    await deleteCheckpoint(deps, made).catch((failure: unknown) => {
      deps.log.warn({ checkpoint: made.metadata.name, error: failure }, "a checkpoint that failed could not be deleted");
    });
    throw failureOf(deps, made, error);
  }
}

export async function deleteCheckpoint({ client, cache }: Pick<TakeDeps, "client" | "cache">, { metadata }: Checkpoint): Promise<void> {
  const { namespace, name = "", uid } = metadata;
  try {
    await client.delete(Checkpoints, { namespace, name }, { preconditions: { uid } });
  } catch (error) {
    if (!isLostRace(error)) await translated(Promise.reject(error as Error));
  }
  // The next list does not show it, whenever the event comes.
  const { items } = await translated(client.list(Checkpoints, { namespace, fieldSelector: `metadata.name=${name}` }));
  for (const checkpoint of items) cache.checkpoints.remember(checkpoint);
}

function checkpointFor(pod: Pod, { sandboxId, alias, keepRunning, ttlMs, purpose = "snapshot", config }: TakeCheckpoint): Checkpoint {
  const { namespace = "", labels = {} } = pod.metadata;
  const { [labelKeys.team]: team, [labelKeys.user]: user } = labels;
  return {
    metadata: {
      namespace,
      name: newCheckpointId(),
      labels: withoutUndefined({ [labelKeys.team]: team, [labelKeys.user]: user, [labelKeys.checkpointPurpose]: purpose }),
      finalizers: [finalizers.checkpointImage],
    },
    spec: {
      sandboxID: sandboxId,
      ...withoutUndefined({ alias, keepRunning, config }),
      ...(ttlMs === undefined ? {} : { ttlAfterFinished: `${Math.ceil(ttlMs / 1000)}s` }),
    },
  };
}

/** One action at a time: a pause that began meanwhile would be told of this one. */
function hold({ cache }: TakeDeps, pod: Pod): Disposable {
  try {
    return cache.sandboxWaits.acquiredTask("checkpoint", pod, () => waiting("a checkpoint of it is being taken"));
  } catch (error) {
    throw asWaitFailure(error);
  }
}

const codes: Readonly<Record<CheckpointFailure, ErrorCode>> = {
  SandboxGone: "conflict",
  LimitReached: "limit_reached",
  TooLarge: "too_large",
  NotPossible: "unavailable",
  NotImplemented: "not_implemented",
};

function failureOf({ cache }: TakeDeps, { metadata }: Checkpoint, error: unknown): unknown {
  if (!isWaitError(error, { code: "failed", reason: "Failed" })) return asWaitFailure(error);
  const { reason, message = "" } = cache.checkpoints.get({ namespace: metadata.namespace, name: metadata.name ?? "" })?.status ?? {};
  const code = Object.hasOwn(codes, reason ?? "") ? codes[reason as CheckpointFailure] : "unavailable";
  return new ServiceError(code, `no checkpoint was taken: ${message}`, { cause: error });
}
