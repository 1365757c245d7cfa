/** The sandbox that an earlier request with the same idempotency key made. */
import { isClaimed } from "#model/claimed-pod.ts";
import { failureReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { areHooksPending, hooksMarkOf } from "#sandbox/hooks-mark.ts";
import { captureStopRecord } from "#life/record/plan-record.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { CreateRequest } from "./create-sandbox.ts";
import { findRecord, findSandbox, type Found } from "#services/reading/find-sandbox.ts";
import { isArmed } from "#life/arm/ask-daemon.ts";
import type { CreatedSandbox, SandboxView } from "#services/sandbox-service.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import { ServiceError } from "#services/service-error.ts";

/** The request, whatever it means: it is looked for and not made. */
type MadeRequest = Omit<CreateRequest, "meant" | "nextId">;

type FindCreatedDeps = Pick<ClaimContext, "client" | "cache" | "history" | "daemons" | "tokens" | "creating" | "clock">;

/** Undefined when there is none, or it is not what a create answers with yet. */
export async function findCreated(deps: FindCreatedDeps, request: MadeRequest): Promise<CreatedSandbox | undefined> {
  const { caller, command, sandboxId } = request;
  const found = await findSandbox(deps, caller, sandboxId);
  const { pod } = found;
  const sandbox = pod !== undefined && isClaimed(pod) ? await living(deps, pod, request) : await ended(deps, found, request);
  if (sandbox === undefined) return undefined;
  return {
    sandbox,
    ...(command.secure === false ? {} : { accessToken: deps.tokens.accessTokenOf(sandboxId) }),
    ...(command.privateTraffic === true ? { trafficToken: deps.tokens.trafficTokenOf(sandboxId) } : {}),
  };
}

async function living(deps: FindCreatedDeps, pod: Pod, { sandboxId, wait, time }: MadeRequest): Promise<SandboxView | undefined> {
  const view = viewOf(pod);
  if (view === undefined) return undefined;
  const armed = !deps.creating.has(sandboxId) && (await isArmed(deps.daemons, pod, sandboxId, time.over));
  if (armed && !areHooksPending(pod)) return { ...view, status: view.status === "Starting" ? "Running" : view.status };
  // Its maker may have died, but another process will run its hooks: a second sandbox under the same key would be one too many.
  if (armed && wait && hooksMarkOf(pod)?.sealed !== undefined) throw hooksUnderWay();
  return wait ? undefined : { ...view, status: "Starting" };
}

function hooksUnderWay(): ServiceError {
  const message = "the sandbox of this idempotency key is made, and its post-start hooks are under way";
  return new ServiceError("conflict", message, { retryAfterSeconds: 1 });
}

/** From the pod that still shows it, or from the history. */
async function ended(
  deps: FindCreatedDeps,
  { pod, record: known }: Found,
  { caller, sandboxId }: MadeRequest,
): Promise<SandboxView | undefined> {
  const record = pod === undefined ? known : (captureStopRecord(pod, deps.clock.now()) ?? (await findRecord(deps, caller, sandboxId)));
  if (record === undefined || !wasMade(record)) return undefined;
  return (pod === undefined ? undefined : viewOf(pod)) ?? record;
}

/** False for one that ended before it was ready: its request was not answered with it. */
function wasMade({ status, failureReason }: SandboxRecord): boolean {
  return status !== "Canceled" && failureReason !== failureReasons.startupTimeout;
}
