/** The sandbox that an earlier request with the same idempotency key made. */
import { isClaimed } from "#model/claimed-pod.ts";
import { failureReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { captureStopRecord } from "#sandbox/stop-record.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { CreateRequest } from "./create-sandbox.ts";
import { findRecord, findSandbox, type Found } from "./find-sandbox.ts";
import { isArmed } from "./is-armed.ts";
import type { CreatedSandbox, SandboxView } from "./sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";

type FindCreatedDeps = Pick<ClaimContext, "client" | "cache" | "history" | "daemons" | "tokens" | "creating" | "clock">;

/** Undefined when there is none, or it is not what a create answers with yet. */
export async function findCreated(deps: FindCreatedDeps, request: CreateRequest): Promise<CreatedSandbox | undefined> {
  const { caller, command, sandboxId } = request;
  const found = await findSandbox(deps, caller, sandboxId);
  const { pod } = found;
  const sandbox = pod !== undefined && isClaimed(pod) ? await living(deps, pod, request) : await ended(deps, found, request);
  if (sandbox === undefined) return undefined;
  return command.secure === false ? { sandbox } : { sandbox, accessToken: deps.tokens.accessTokenOf(sandboxId) };
}

async function living(deps: FindCreatedDeps, pod: Pod, { sandboxId, wait, time }: CreateRequest): Promise<SandboxView | undefined> {
  const view = viewOf(pod);
  if (view === undefined) return undefined;
  const isReady = !deps.creating.has(sandboxId) && (await isArmed(deps.daemons, pod, sandboxId, time.over));
  if (isReady) return { ...view, status: view.status === "Starting" ? "Running" : view.status };
  return wait ? undefined : { ...view, status: "Starting" };
}

/** From the pod that still shows it, or from the history. */
async function ended(
  deps: FindCreatedDeps,
  { pod, record: known }: Found,
  { caller, sandboxId }: CreateRequest,
): Promise<SandboxView | undefined> {
  const record = pod === undefined ? known : (captureStopRecord(pod, deps.clock.now()) ?? (await findRecord(deps, caller, sandboxId)));
  if (record === undefined || !wasMade(record)) return undefined;
  return (pod === undefined ? undefined : viewOf(pod)) ?? record;
}

/** False for one that ended before it was ready: its request was not answered with it. */
function wasMade({ status, failureReason }: SandboxRecord): boolean {
  return status !== "Canceled" && failureReason !== failureReasons.startupTimeout;
}
