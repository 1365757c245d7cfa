/** Whether a request goes on to a sandbox, and where to; or what it is answered instead. */
import { timingSafeEqual } from "node:crypto";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { daemonPortOf } from "#sandbox/runtimes.ts";
import * as answers from "./answers.ts";
import { isInternalRoute, publicDaemonPort } from "./daemon-port.ts";
import type { Newcomers } from "./newcomers.ts";
import { type Route, routeOf } from "./route.ts";
import type { Target } from "./target.ts";
import type { Upstream } from "./upstream.ts";

export interface AdmitDeps {
  readonly cache: Pick<SandboxCache, "podsOfSandbox">;
  /** How the sandbox ended, if anybody knows. Only asked for ids that no pod carries. */
  readonly ended: (sandboxId: string) => Promise<SandboxRecord | undefined>;
  /** Wakes a paused sandbox; resolves when it runs. */
  readonly wake: (sandboxId: string) => Promise<void>;
  readonly trafficTokenOf: (sandboxId: string) => string;
  /** Left out where sandboxes are made in the same process: the cache has all of them. */
  readonly newcomers?: Pick<Newcomers, "appears"> | undefined;
}

type OpenRoute = Extract<Route, { kind: "open" }>;

export type Admission =
  | { readonly kind: "admitted"; readonly upstream: Upstream; readonly pod: Pod; readonly mask?: string }
  | { readonly kind: "answered"; readonly answer: answers.Answer };

export async function admit(deps: AdmitDeps, target: Target, trafficToken: string | undefined): Promise<Admission> {
  const { sandboxId, port, url } = target;
  if (port === publicDaemonPort && isInternalRoute(url)) return answered(answers.noSuchRoute(url.split(/[?#]/, 1)[0] ?? "/"));
  const route = await awake(deps, sandboxId);
  switch (route.kind) {
    case "unknown": {
      const ended = await deps.ended(sandboxId);
      if (ended === undefined && (await isNew(deps, sandboxId))) return admit(deps, target, trafficToken);
      return answered(answers.notFound(sandboxId, ended));
    }
    case "paused":
      return answered(answers.paused(sandboxId));
    case "starting":
      return answered(answers.inTransition(sandboxId, "The sandbox is starting"));
    case "unwakeable":
      return answered(answers.inTransition(sandboxId, "The sandbox is paused and could not be resumed"));
    case "open":
      return enter(deps, target, route, trafficToken);
  }
}

/** Whether it is known by now. A pod that merely shows the id is of a sandbox that ends. */
async function isNew({ cache, newcomers }: AdmitDeps, sandboxId: string): Promise<boolean> {
  // It may have come while the history was asked.
  if (newcomers === undefined || routeOf(cache, sandboxId).kind !== "unknown") return newcomers !== undefined;
  return cache.podsOfSandbox(sandboxId).next().done === true && (await newcomers.appears(sandboxId));
}

/** Where it is, after it was woken if traffic is to wake it. */
async function awake(deps: AdmitDeps, sandboxId: string): Promise<Route | { readonly kind: "unwakeable" }> {
  const route = routeOf(deps.cache, sandboxId);
  if (route.kind !== "paused" || route.pod.metadata.annotations?.[annotationKeys.autoResume] !== "true") return route;
  try {
    await deps.wake(sandboxId);
  } catch {
    return { kind: "unwakeable" };
  }
  return routeOf(deps.cache, sandboxId);
}

function enter(deps: AdmitDeps, { sandboxId, port }: Target, { pod, ip }: OpenRoute, trafficToken: string | undefined): Admission {
  const annotations = pod.metadata.annotations ?? {};
  const upstream = { sandboxId, ip, port };
  // The daemon asks for a token of its own.
  if (port === publicDaemonPort) return { kind: "admitted", upstream: { ...upstream, port: daemonPortOf(pod) }, pod };
  if (annotations[annotationKeys.privateTraffic] === "true" && !isSame(trafficToken, deps.trafficTokenOf(sandboxId))) {
    return answered(
      answers.forbidden(sandboxId, "Missing or invalid traffic access token: send it in the header e2b-traffic-access-token"),
    );
  }
  const mask = annotations[annotationKeys.maskHost]?.replaceAll("${PORT}", String(port));
  return { kind: "admitted", upstream, pod, ...(mask === undefined ? {} : { mask }) };
}

function answered(answer: answers.Answer): Admission {
  return { kind: "answered", answer };
}

function isSame(given: string | undefined, expected: string): boolean {
  const [left, right] = [Buffer.from(given ?? ""), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
