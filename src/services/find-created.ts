/** The sandbox that an earlier request with the same idempotency key made. */
import { isClaimed } from "#model/claimed-pod.ts";
import { failureReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { CreateRequest } from "./create-sandbox.ts";
import { daemonAddress } from "./daemon-address.ts";
import { findPod, findRecord } from "./find-sandbox.ts";
import type { CreatedSandbox } from "./sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";

type FindCreatedDeps = Pick<ClaimContext, "cache" | "history" | "daemons" | "tokens" | "creating">;

/** Undefined when there is none, or it is not what a create answers with yet. */
export async function findCreated(deps: FindCreatedDeps, request: CreateRequest): Promise<CreatedSandbox | undefined> {
  const { caller, command, sandboxId, wait, time } = request;
  const token = command.secure === false ? {} : { accessToken: deps.tokens.accessTokenOf(sandboxId) };
  const pod = findPod(deps, caller, sandboxId);
  const view = pod === undefined ? undefined : viewOf(pod);
  if (pod === undefined || view === undefined) {
    const record = await findRecord(deps, caller, sandboxId);
    return record === undefined || !wasMade(record) ? undefined : { sandbox: record, ...token };
  }
  if (!isClaimed(pod)) return { sandbox: view, ...token };
  const isReady = !deps.creating.has(sandboxId) && (await isArmed(deps, pod, sandboxId, time.over));
  if (isReady) return { sandbox: { ...view, status: view.status === "Starting" ? "Running" : view.status }, ...token };
  return wait ? undefined : { sandbox: { ...view, status: "Starting" }, ...token };
}

/** False for one that ended before it was ready: its request was not answered with it. */
function wasMade({ status, failureReason }: SandboxRecord): boolean {
  return status !== "Canceled" && failureReason !== failureReasons.startupTimeout;
}

async function isArmed({ daemons }: FindCreatedDeps, pod: Pod, sandboxId: string, signal: AbortSignal): Promise<boolean> {
  try {
    const health = await daemons.health(daemonAddress(pod), { signal });
    return health.podUid === pod.metadata.uid && health.sandboxId === sandboxId;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
