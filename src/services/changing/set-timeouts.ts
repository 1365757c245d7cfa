/** Changes when a sandbox ends by itself. The write restarts both clocks, so that a new limit does not end the sandbox at once. */
import type { Clock } from "#lib/clock.ts";
import { annotationKeys } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { formatSeconds, formatTime, parseTime } from "#sandbox/annotation-values.ts";
import type { PodChange } from "#sandbox/pod-patch.ts";
import type { Caller } from "#services/caller.ts";
import { checkTime, createLimits } from "#services/creating/check-create.ts";
import { type ChangeDeps, changeSandbox } from "./change-sandbox.ts";
import { noSuchSandbox } from "#services/reading/find-sandbox.ts";
import type { SandboxView, TimeoutChange } from "#services/sandbox-service.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import { ServiceError } from "#services/service-error.ts";

export interface TimeoutDeps extends ChangeDeps {
  readonly clock: Clock;
}

export async function setTimeouts(deps: TimeoutDeps, caller: Caller, sandboxId: string, change: TimeoutChange): Promise<SandboxView> {
  if (change.idleTimeoutMs !== 0) checkTime("idleTimeout", change.idleTimeoutMs, createLimits.idleTimeout);
  // A sandbox that is there may also end now.
  checkTime("lifetime", change.lifetimeMs ?? undefined, { ...createLimits.lifetime, min: 1 });
  const wanted = { caller, sandboxId, wish: "changing its timeouts" };
  const pod = await changeSandbox(deps, wanted, (current) => decide(current, change, deps.clock.now()));
  const view = viewOf(pod);
  if (view === undefined) throw noSuchSandbox(sandboxId);
  return view;
}

/** Undefined when nothing is to be changed. */
function decide(pod: Pod, change: TimeoutChange, now: number): PodChange | undefined {
  if (isFrozen(pod) || pauseWish(pod) !== undefined) {
    throw new ServiceError("conflict", "the sandbox is paused, so its timeouts are stopped: resume it to change them");
  }
  const parts = [idleChange(change, now), endChange(pod, change, now)];
  const annotations = Object.assign({}, ...parts.map((part) => part.annotations ?? {})) as Readonly<Record<string, string>>;
  const removeAnnotations = parts
    .flatMap((part) => part.removeAnnotations ?? [])
    .filter((key) => Object.hasOwn(pod.metadata.annotations ?? {}, key));
  return Object.keys(annotations).length + removeAnnotations.length === 0 ? undefined : { annotations, removeAnnotations };
}

function idleChange({ idleTimeoutMs }: TimeoutChange, now: number): PodChange {
  if (idleTimeoutMs === undefined) return {};
  if (idleTimeoutMs === 0) return { removeAnnotations: [annotationKeys.idleTimeout] };
  return { annotations: { [annotationKeys.idleTimeout]: formatSeconds(idleTimeoutMs), [annotationKeys.lastActive]: formatTime(now) } };
}

/** A sandbox without an end time has the latest of all. */
function endChange(pod: Pod, { lifetimeMs, onlyLater = false }: TimeoutChange, now: number): PodChange {
  if (lifetimeMs === undefined) return {};
  if (lifetimeMs === null) return { removeAnnotations: [annotationKeys.endTime] };
  const present = parseTime(pod.metadata.annotations?.[annotationKeys.endTime]) ?? Infinity;
  const wanted = now + lifetimeMs;
  return onlyLater && present >= wanted ? {} : { annotations: { [annotationKeys.endTime]: formatTime(wanted) } };
}
