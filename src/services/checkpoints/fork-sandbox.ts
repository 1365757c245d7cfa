/**
 * Forks a sandbox: one checkpoint, and several sandboxes from it at once. The original goes on. Each child reports its own failure; a failure that concerns
 * all of them is reported before anything is created.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { checkpointIdOf } from "#model/checkpoint-image.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import { pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { Caller } from "#services/caller.ts";
import { ownerOf, sameAgain } from "#services/creating/same-again.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { findSandbox, noSuchSandbox } from "#services/reading/find-sandbox.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import type { CreatedSandbox, CreateSandbox } from "#services/sandbox-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import type { ForkedSandbox, ForkSandbox } from "./checkpoint-service.ts";
import { checkCommand, deleteCheckpoint, takeOfPod, type TakeDeps } from "./take-checkpoint.ts";

export interface ForkDeps extends TakeDeps {
  readonly claims: Pick<SandboxClaims, "create" | "end">;
  readonly guard?: Pick<LimitGuard, "reserve" | "ofTeam"> | undefined;
  /** The variables that a sandbox was given. */
  readonly variables?: ((pod: Pod, signal: AbortSignal) => Promise<Readonly<Record<string, string>>>) | undefined;
}

export const mostChildren = 100;
/** Should this process die before it deletes the checkpoint. */
const checkpointTtlMs = 15 * 60_000;

export async function forkSandbox(
  deps: ForkDeps,
  caller: Caller,
  command: ForkSandbox,
  signal: AbortSignal,
): Promise<readonly ForkedSandbox[]> {
  const { sandboxId, count = 1, memory } = command;
  const wanted = { sandboxId, ttlMs: checkpointTtlMs, purpose: "fork", ...withoutUndefined({ memory }) } as const;
  const pod = await runningPod(deps, caller, sandboxId);
  checkCount(deps, caller, count);
  checkCommand(deps, wanted);
  const checkpoint = await takeOfPod(deps, pod, wanted, signal);
  try {
    const child = { ...(await childOf(deps, pod, command, signal)), from: checkpointIdOf(checkpoint) };
    const owner = ownerOf(caller, pod);
    const made = await Promise.allSettled(Array.from({ length: count }, () => deps.claims.create(owner, child, { wait: true, signal })));
    if (signal.aborted) await endAll(deps, owner, made);
    signal.throwIfAborted();
    return made.map((one) => (one.status === "fulfilled" ? one.value : { failure: failureOf(one.reason) }));
  } finally {
    // The image stays as long as a child runs from it.
    await deleteCheckpoint(deps, checkpoint).catch((error: unknown) => {
      deps.log.warn({ checkpoint: checkpoint.metadata.name, error }, "the checkpoint of a fork could not be deleted; it ends by itself");
    });
  }
}

async function runningPod(deps: ForkDeps, caller: Caller, sandboxId: string): Promise<Pod> {
  const { pod } = await findSandbox(deps, caller, sandboxId);
  if (pod === undefined || !isClaimed(pod)) throw noSuchSandbox(sandboxId);
  if (pauseWish(pod) !== undefined) throw new ServiceError("conflict", `sandbox ${sandboxId} is paused: resume it first`);
  return pod;
}

/** The caller left while other children were still being created, so it learns of none of them. */
async function endAll({ claims }: ForkDeps, owner: Caller, made: readonly PromiseSettledResult<CreatedSandbox>[]): Promise<void> {
  const children = made.flatMap((one) => (one.status === "fulfilled" ? [one.value.sandbox.sandboxId] : []));
  await Promise.allSettled(children.map((id) => claims.end(owner, id)));
}

function checkCount({ guard }: ForkDeps, { team }: Caller, count: number): void {
  if (!Number.isInteger(count) || count < 1 || count > mostChildren) {
    throw new ServiceError("invalid_request", `count must be a whole number from 1 to ${mostChildren}, not ${count}`, { field: "count" });
  }
  const limit = team === "" ? undefined : guard?.ofTeam(team, "sandboxes");
  if (limit === undefined || count < limit) return;
  const message = `count must be below ${limit}, which is how many live sandboxes team ${team} may have (limit sandboxes)`;
  throw new ServiceError("invalid_request", message, { field: "count" });
}

/** As its original was asked for. */
async function childOf(deps: ForkDeps, pod: Pod, { lifetimeMs }: ForkSandbox, signal: AbortSignal): Promise<Omit<CreateSandbox, "from">> {
  const envVars = await deps.variables?.(pod, signal);
  const endTime = viewOf(pod)?.endTime;
  const left = endTime === undefined ? undefined : Math.max(Date.parse(endTime) - deps.clock.now(), 1000);
  return { ...sameAgain(pod), ...withoutUndefined({ envVars, lifetimeMs: lifetimeMs ?? left }) };
}

function failureOf(reason: unknown): { readonly code: string; readonly message: string } {
  if (isServiceError(reason)) return { code: reason.code, message: reason.message };
  return { code: "internal", message: "the sandbox could not be made" };
}
