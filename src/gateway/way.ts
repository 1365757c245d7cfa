/** Where a request goes: to a sandbox, to the API, or nowhere; then what the gateway answers. */
import type { TrafficLog } from "./activity.ts";
import { admit, type AdmitDeps } from "./admit.ts";
import { type Answer, apiUnreachable, badRequest, tooManyOfTeam, tooManyOpen } from "./answers.ts";
import { type ApiPlace, isApiHost } from "./api-host.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { type GatewayRequest, hostOf, oneHeader } from "./exchange.ts";
import { type OpenLimits, usualOpenLimits } from "./open-limits.ts";
import { type Target, type TargetResult, targetOf } from "./target.ts";
import type { Upstream } from "./upstream.ts";

export interface WayDeps extends AdmitDeps {
  readonly traffic: TrafficLog;
  /** Left out: `api.<domain>` is not served. */
  readonly api?: ApiPlace | undefined;
  readonly limits?: OpenLimits | undefined;
}

export type Destination = TargetResult | { readonly kind: "api"; readonly url: string };

export type Way =
  | { readonly kind: "answered"; readonly answer: Answer }
  | {
      readonly kind: "open";
      readonly upstream: Upstream;
      /** Path and query at the target. */
      readonly url: string;
      /** Host header at the target, if it differs from the client's. */
      readonly mask?: string | undefined;
      /** Counts the request; the returned function notes its end. */
      readonly begin: () => () => void;
    };

export function destinationOf(deps: Pick<WayDeps, "api">, request: GatewayRequest): Destination {
  const [host, url] = [hostOf(request), request.url ?? "/"];
  if (isApiHost(deps.api, host) && url.startsWith("/")) return { kind: "api", url };
  return targetOf({ host, idHeader: oneHeader(request, "e2b-sandbox-id"), portHeader: oneHeader(request, "e2b-sandbox-port"), url });
}

/** Label for metrics. */
export function waysName(destination: Destination): string {
  return destination.kind === "target" ? destination.target.by : destination.kind === "api" ? "api" : "none";
}

/** `open`: number of open requests, including this one. */
export async function wayOf(deps: WayDeps, request: GatewayRequest, destination: Destination, open: number): Promise<Way> {
  const { total } = deps.limits ?? usualOpenLimits;
  if (open > total) return answered(tooManyOpen(total));
  if (destination.kind === "refused") return answered(badRequest(destination.message));
  if (destination.kind === "target") return intoSandbox(deps, request, destination.target);
  const place = deps.api?.at();
  if (place === undefined) return answered(apiUnreachable());
  return { kind: "open", upstream: { sandboxId: "", ip: place.host, port: place.port }, url: destination.url, begin: () => () => {} };
}

async function intoSandbox(deps: WayDeps, request: GatewayRequest, target: Target): Promise<Way> {
  const { traffic, limits: { perSandbox, teams } = usualOpenLimits } = deps;
  const admission = await admit(deps, target, {
    method: request.method ?? "GET",
    trafficToken: oneHeader(request, "e2b-traffic-access-token"),
    accessToken: oneHeader(request, "x-access-token"),
    apiKey: oneHeader(request, "x-api-key"),
  });
  if (admission.kind === "answered") return admission;
  const { sandboxId, url } = target;
  const { upstream, mask, pod, isUse } = admission;
  // Counted separately: requests that will be refused take no place from others.
  const open = isUse ? traffic.of(sandboxId)?.open : traffic.strangersOf(sandboxId);
  if ((open ?? 0) >= perSandbox) return answered(tooManyOpen(perSandbox, sandboxId));
  const team = teamOf(pod);
  const reached = isUse ? teams?.reached(team) : undefined;
  if (reached !== undefined) return answered(tooManyOfTeam(reached, team));
  const begin = (): (() => void) => {
    const ends = isUse ? [traffic.begin(sandboxId, pod), teams?.begin(team)] : [traffic.beginStranger(sandboxId)];
    return () => ends.forEach((end) => end?.());
  };
  return { kind: "open", upstream, url, mask, begin };
}

function teamOf({ metadata: { labels } }: Pod): string {
  return labels?.[labelKeys.team] ?? "";
}

function answered(answer: Answer): Way {
  return { kind: "answered", answer };
}
