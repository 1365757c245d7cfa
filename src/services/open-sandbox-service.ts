/**
 * Composes all use cases of sandboxes. Creating and ending them is in `sandbox-claims.ts`; reading and changing live ones is here:
 *
 * - `get-sandbox.ts`, `list-sandboxes.ts`, `count-live.ts`, `watch-sandbox.ts`, `sandbox-statistics.ts`, `usage/`  read them; `sandbox-view.ts` is the result
 * - `set-timeouts.ts`, `pause-sandbox.ts`, `set-egress.ts`  change them, with one conditional write each (`change-sandbox.ts`)
 * - `deep-pause-sandbox.ts`, `resume-deep-paused.ts`  pausing without memory, and back
 * - `sandbox-logs.ts`, `runtime-logs.ts`, `exec-in-sandbox.ts`  logs and commands; `exec-tokens.ts` later access, `exec-activity.ts` counts it as use
 * - `find-sandbox.ts`, `carried-pod.ts`  find the sandbox, in the cache and on the server; `caller.ts` the caller
 * - `live-sandboxes.ts`  live sandboxes in order; `service-failure.ts` translates failures of lower layers
 */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { HistoryStore } from "#store/history-store.ts";
import type { ExecActivity } from "./inside/exec-activity.ts";
import { type ExecDeps, execInSandbox } from "./inside/exec-in-sandbox.ts";
import { countLive } from "./reading/count-live.ts";
import { getSandbox, viewSandbox } from "./reading/get-sandbox.ts";
import { listSandboxes } from "./reading/list-sandboxes.ts";
import type { LiveSandboxes } from "./reading/live-sandboxes.ts";
import { deepPauseSandbox } from "./changing/deep-pause-sandbox.ts";
import { pauseSandbox, resumeSandbox } from "./changing/pause-sandbox.ts";
import type { DeepResumes } from "./changing/resume-deep-paused.ts";
import type { LimitGuard } from "./limits/limit-guard.ts";
import type { SandboxClaims } from "./creating/sandbox-claims.ts";
import { runtimeLogs } from "./reading/runtime-logs.ts";
import { sandboxLogs } from "./reading/sandbox-logs.ts";
import type { SandboxService } from "./sandbox-service.ts";
import { setEgress } from "./changing/set-egress.ts";
import { setTimeouts } from "./changing/set-timeouts.ts";
import { watchSandbox } from "./reading/watch-sandbox.ts";

export interface SandboxServiceDeps {
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly pods: PodAccess;
  /** Made over the pods of the same cache. */
  readonly live: LiveSandboxes;
  readonly activity: Pick<ExecActivity, "begin">;
  readonly daemons?: ExecDeps["daemons"];
  readonly variables?: ExecDeps["variables"];
  readonly claims: Pick<SandboxClaims, "create" | "createMany" | "end">;
  readonly abilities: Pick<EngineAbilities, "pause" | "egress" | "deepPause">;
  readonly guard?: Pick<LimitGuard, "reserve"> | undefined;
  /** Left out where no sandbox is ever without its pod. */
  readonly deepResumes?: Pick<DeepResumes, "resume"> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export function openSandboxService(deps: SandboxServiceDeps): SandboxService {
  const { claims } = deps;
  return {
    create: (caller, command, options) => claims.create(caller, command, options),
    createMany: (caller, command, options) => claims.createMany(caller, command, options),
    end: (caller, sandboxId) => claims.end(caller, sandboxId),
    get: (caller, sandboxId) => getSandbox(deps, caller, sandboxId),
    view: (caller, sandboxId) => viewSandbox(deps, caller, sandboxId),
    list: (caller, query) => listSandboxes(deps, caller, query),
    countLive: (caller, filter) => countLive(deps.live, caller, filter),
    setTimeouts: (caller, sandboxId, change) => setTimeouts(deps, caller, sandboxId, change),
    pause: (caller, sandboxId, signal, { memory = true } = {}) =>
      memory ? pauseSandbox(deps, caller, sandboxId, signal) : deepPauseSandbox(deps, caller, sandboxId, signal),
    resume: (caller, sandboxId, signal) => resumeSandbox(deps, caller, sandboxId, signal),
    setEgress: (caller, sandboxId, change) => setEgress(deps, caller, sandboxId, change),
    watch: (caller, sandboxId, signal) => watchSandbox(deps, caller, sandboxId, signal),
    logs: (caller, sandboxId, { source = "stdout", ...request }) =>
      source === "stdout" ? sandboxLogs(deps, caller, sandboxId, request) : runtimeLogs(deps, caller, sandboxId, { ...request, source }),
    exec: (caller, sandboxId, command) => execInSandbox(deps, caller, sandboxId, command),
  };
}
