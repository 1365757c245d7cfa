/** Sandboxes as E2B's SDKs read them. */
import type { PoolSize } from "#services/pools/pool-size.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { quantityNumber } from "#model/quantity.ts";
import { shownNetwork } from "./network-body.ts";

/** What our daemon does of E2B's protocol: SDKs switch features on by it. */
export const envdVersion = "0.6.4";
/** Theirs names the machine; ours are found by their id alone. */
const clientId = "agentbox";
const mebibyte = 1024 * 1024;
/** Shown for sandboxes that have no limit of their own. */
const assumed = { memory: 512 * mebibyte, disk: 1024 * mebibyte };
/** Clients expect an end time; a sandbox that never ends is shown with one in the far future. */
const farAway = "2999-12-31T23:59:59.000Z";

export interface BodyOptions {
  readonly domain?: string | undefined;
  readonly envdAccessToken?: string | undefined;
  readonly trafficAccessToken?: string | undefined;
}

/** The answer to a create or connect. */
export function createdBody(view: SandboxView, { domain, envdAccessToken, trafficAccessToken }: BodyOptions) {
  return {
    ...templateOf(view),
    sandboxID: view.sandboxId,
    clientID: clientId,
    envdVersion,
    ...(envdAccessToken === undefined ? {} : { envdAccessToken }),
    ...(trafficAccessToken === undefined ? {} : { trafficAccessToken }),
    ...(domain === undefined ? {} : { domain }),
  };
}

/** What it was made from: its Env, or without one its pool. */
function templateOf({ envName, templateName, poolName }: SandboxView) {
  return { templateID: envName ?? templateName ?? poolName, alias: envName ?? poolName };
}

/** In whole processors and mebibytes. */
export function sizeBody({ cpu, memory, disk }: PoolSize) {
  return {
    cpuCount: Math.max(1, Math.ceil(quantityNumber(cpu) ?? 1)),
    memoryMB: Math.floor((quantityNumber(memory) ?? assumed.memory) / mebibyte),
    diskSizeMB: Math.floor((quantityNumber(disk) ?? assumed.disk) / mebibyte),
  };
}

/** One of a list. Only live ones are shown; what has ended is not there any more for E2B's clients. */
export function listedBody(view: SandboxView) {
  const { sandboxId, startedAt, claimedAt, endTime, metadata, status } = view;
  return {
    ...templateOf(view),
    sandboxID: sandboxId,
    clientID: clientId,
    startedAt: startedAt ?? claimedAt,
    endAt: endTime ?? farAway,
    ...sizeBody(view),
    metadata,
    state: status === "Paused" ? "paused" : "running",
    envdVersion,
  };
}

export function detailBody(view: SandboxView, options: BodyOptions) {
  const { domain, envdAccessToken } = options;
  return {
    ...listedBody(view),
    ...(envdAccessToken === undefined ? {} : { envdAccessToken }),
    ...(domain === undefined ? {} : { domain }),
    ...shownNetwork(view),
    lifecycle: { autoResume: view.autoResume === true, onTimeout: view.onTimeout ?? "kill" },
  };
}

const live: ReadonlySet<string> = new Set(["Starting", "Running", "Paused"]);

/** Throws not_found for one that has ended, or is about to. */
export function alive<View extends SandboxView>(view: View): View {
  if (live.has(view.status)) return view;
  throw new ServiceError(
    "not_found",
    `sandbox "${view.sandboxId}" doesn't exist or you don't have access to it: it has ended (${view.status})`,
  );
}
