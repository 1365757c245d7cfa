/** Decides if a request goes to a sandbox, and where; otherwise, what the gateway answers. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { daemonPortOf } from "#sandbox/pods/runtimes.ts";
import { accessOf, type AccessDeps, type Shown } from "./access.ts";
import * as answers from "./answers.ts";
import { isInternalRoute, publicDaemonPort } from "./daemon-port.ts";
import type { Newcomers } from "./newcomers.ts";
import { type Route, routeOf } from "./route.ts";
import type { Target } from "./target.ts";
import type { Upstream } from "./upstream.ts";

export interface AdmitDeps extends AccessDeps {
  readonly cache: Pick<SandboxCache, "podsOfSandbox">;
  /** How the sandbox ended, if known. Only asked for ids that no pod has. */
  readonly ended: (sandboxId: string) => Promise<SandboxRecord | undefined>;
  /** Resumes a paused sandbox; resolves when it runs. */
  readonly wake: (sandboxId: string) => Promise<void>;
  /** Left out where sandboxes are created in the same process: the cache then has all of them. */
  readonly newcomers?: Pick<Newcomers, "appears"> | undefined;
}

type FoundRoute = Exclude<Route, { kind: "unknown" }>;
type OpenRoute = Extract<Route, { kind: "open" }>;

export type Admission =
  | {
      readonly kind: "admitted";
      readonly upstream: Upstream;
      readonly pod: Pod;
      readonly mask?: string;
      /** True if the request counts as use of the sandbox: not if its daemon will refuse it. */
      readonly isUse: boolean;
    }
  | { readonly kind: "answered"; readonly answer: answers.Answer };

export async function admit(deps: AdmitDeps, target: Target, shown: Shown): Promise<Admission> {
  const { sandboxId, port, url } = target;
  const isInternal = isInternalRoute(url);
  if (port === publicDaemonPort && isInternal) return noSuchRoute(url);
  const found = routeOf(deps.cache, sandboxId);
  if (found.kind === "unknown") {
    const ended = await deps.ended(sandboxId);
    if (ended === undefined && (await isNew(deps, sandboxId))) return admit(deps, target, shown);
    return answered(answers.notFound(sandboxId, ended));
  }
  if (isInternal && port === daemonPortOf(found.pod)) return noSuchRoute(url);
  return admitTo(deps, target, found, shown);
}

/** Decide what the request may do before doing anything for it. */
async function admitTo(deps: AdmitDeps, target: Target, found: FoundRoute, shown: Shown): Promise<Admission> {
  const { sandboxId } = target;
  const access = accessOf(deps, found.pod, target, shown);
  if (access === "forbidden") {
    const message = "Missing or invalid traffic access token: send it in the header e2b-traffic-access-token";
    return answered(answers.forbidden(sandboxId, message));
  }
  const isUse = access === "admitted";
  const route = isUse ? await awake(deps, sandboxId, found) : found;
  switch (route.kind) {
    case "unknown":
      return answered(answers.notFound(sandboxId));
    case "paused":
      return answered(answers.paused(sandboxId));
    case "starting":
      return answered(answers.inTransition(sandboxId, "The sandbox is starting"));
    case "unwakeable":
      return answered(answers.inTransition(sandboxId, "The sandbox is paused and could not be resumed"));
    case "open":
      return enter(target, route, isUse);
  }
}

/** True if the sandbox is known by now. A pod that only shows the id belongs to a sandbox that is ending. */
async function isNew({ cache, newcomers }: AdmitDeps, sandboxId: string): Promise<boolean> {
  // It may have appeared while the history was asked.
  if (newcomers === undefined || routeOf(cache, sandboxId).kind !== "unknown") return newcomers !== undefined;
  return cache.podsOfSandbox(sandboxId).next().done === true && (await newcomers.appears(sandboxId));
}

/** Its place, after resuming it if traffic may do that. */
async function awake(deps: AdmitDeps, sandboxId: string, found: FoundRoute): Promise<Route | { readonly kind: "unwakeable" }> {
  if (found.kind !== "paused" || found.pod.metadata.annotations?.[annotationKeys.autoResume] !== "true") return found;
  try {
    await deps.wake(sandboxId);
  } catch {
    return { kind: "unwakeable" };
  }
  return routeOf(deps.cache, sandboxId);
}

function enter({ sandboxId, port }: Target, { pod, ip }: OpenRoute, isUse: boolean): Admission {
  const upstream = { sandboxId, ip, port };
  if (port === publicDaemonPort) return { kind: "admitted", upstream: { ...upstream, port: daemonPortOf(pod) }, pod, isUse };
  const mask = pod.metadata.annotations?.[annotationKeys.maskHost]?.replaceAll("${PORT}", String(port));
  // Creates refuse an invalid host; a value written otherwise must not inject a header either.
  return { kind: "admitted", upstream, pod, isUse, ...(mask === undefined || !visible.test(mask) ? {} : { mask }) };
}

const visible = /^[\x21-\x7e]+$/;

function noSuchRoute(url: string): Admission {
  return answered(answers.noSuchRoute(url.split(/[?#]/, 1)[0] ?? "/"));
}

function answered(answer: answers.Answer): Admission {
  return { kind: "answered", answer };
}
