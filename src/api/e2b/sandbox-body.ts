/** Sandboxes as E2B's SDKs read them. */
import type { PoolSize } from "#services/pools/pool-size.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { quantityNumber } from "#model/quantity.ts";
import { shownNetwork } from "./network-body.ts";

/** The version of E2B's daemon protocol that ours supports: SDKs enable features by it. */
export const envdVersion = "0.6.4";
/** E2B's value names the machine; our sandboxes are found by their id alone. */
const clientId = "agentbox";
const mebibyte = 1024 * 1024;
/** Shown for sandboxes without a limit of their own. */
const assumed = { memory: 512 * mebibyte, disk: 1024 * mebibyte };
/** Clients expect an end time; a sandbox that never ends is shown with one in the far future. */
const farAway = "2999-12-31T23:59:59.000Z";

export interface BodyOptions {
  readonly domain?: string | undefined;
  readonly envdAccessToken?: string | undefined;
  readonly trafficAccessToken?: string | undefined;
}

/** Answer to a create or connect. */
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

/** The template of a sandbox: its Env, or its pool if it has no Env. */
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

/** One entry of a list. Only live sandboxes are shown; for E2B's clients an ended sandbox does not exist. */
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
    ...(view.volumeMounts === undefined ? {} : { volumeMounts: view.volumeMounts.map(({ name, path }) => ({ name, path })) }),
  };
}

export function detailBody(view: SandboxView, options: BodyOptions) {
  const { domain, envdAccessToken } = options;
  return {
    ...listedBody(view),
    ...(envdAccessToken === undefined ? {} : { envdAccessToken }),
    ...(domain === undefined ? {} : { domain }),
    ...shownNetwork(view),
    lifecycle: {
      autoResume: view.autoResume === true,
      onTimeout: view.onTimeout === undefined || view.onTimeout === "kill" ? "kill" : "pause",
    },
  };
}

const live: ReadonlySet<string> = new Set(["Starting", "Running", "Paused"]);

/** Throws not_found for a sandbox that has ended or is about to end. */
export function alive<View extends SandboxView>(view: View): View {
  if (live.has(view.status)) return view;
  throw new ServiceError(
    "not_found",
    `sandbox "${view.sandboxId}" doesn't exist or you don't have access to it: the sandbox has ended (${view.status})`,
  );
}
