/** What probes mean: whether a container has started and is ready, whether it must go, and which of its probes should run. */
import type { StoredProbe } from "#engines/embedded/stored-pod.ts";
import type { ProbeTarget } from "./action.ts";
import { type ContainerView, isRecorded } from "./container-view.ts";
import type { Scene } from "./move.ts";
import type { Observed, ProbeKind, ProbeVerdict } from "./observed.ts";

/** The latest word, or what an earlier agent wrote down: taking over must not make a ready container unready. */
function verdict({ memory }: Observed, view: ContainerView, kind: ProbeKind): ProbeVerdict | undefined {
  const { situation, stored } = view;
  if (situation.kind !== "running") return undefined;
  const { id } = situation.container;
  const known = memory.probes.get(id)?.[kind];
  if (known !== undefined || !isRecorded(stored, id)) return known;
  const was = { startup: stored?.started === true, readiness: stored?.ready === true, liveness: false }[kind];
  return was ? "success" : undefined;
}

/** True when it runs, its hook is done and its startup probe, if it has one, has succeeded. */
export function hasStarted(observed: Observed, view: ContainerView): boolean {
  const { situation, spec } = view;
  if (situation.kind !== "running") return false;
  const hook = observed.memory.postStarts.get(situation.container.id);
  if (hook === "running" || hook === "failed") return false;
  return spec.startupProbe === undefined || verdict(observed, view, "startup") === "success";
}

export function isReady(observed: Observed, view: ContainerView): boolean {
  const { situation, spec } = view;
  if (!hasStarted(observed, view) || situation.kind !== "running") return false;
  if (observed.memory.stops.has(situation.container.id)) return false;
  return spec.readinessProbe === undefined || verdict(observed, view, "readiness") === "success";
}

/** The probe whose failure ends the container. */
export function failedProbe(
  observed: Observed,
  view: ContainerView,
): { readonly kind: ProbeKind; readonly probe: StoredProbe } | undefined {
  const { startupProbe, livenessProbe } = view.spec;
  if (startupProbe !== undefined && verdict(observed, view, "startup") === "failure") return { kind: "startup", probe: startupProbe };
  if (livenessProbe !== undefined && verdict(observed, view, "liveness") === "failure") return { kind: "liveness", probe: livenessProbe };
  return undefined;
}

/** The startup probe until it has succeeded, then the others. A container that is being stopped is not probed. */
export function probeTargets({ observed, views }: Scene): readonly ProbeTarget[] {
  return views.flatMap((view) => (view.isInit ? [] : targetsOf(observed, view)));
}

function targetsOf(observed: Observed, view: ContainerView): readonly ProbeTarget[] {
  const { situation, spec } = view;
  if (situation.kind !== "running" || observed.runtime === undefined) return [];
  const { id, startedAt = 0 } = situation.container;
  const hook = observed.memory.postStarts.get(id);
  if (observed.memory.stops.has(id) || hook === "running" || hook === "failed") return [];
  const { ip: address } = observed.runtime;
  const target = (kind: ProbeKind, probe: StoredProbe | undefined): readonly ProbeTarget[] =>
    probe === undefined ? [] : [{ id, kind, container: spec, probe, address, startedAt, initial: verdict(observed, view, kind) }];
  if (!hasStarted(observed, view)) return target("startup", spec.startupProbe);
  return [...target("liveness", spec.livenessProbe), ...target("readiness", spec.readinessProbe)];
}
