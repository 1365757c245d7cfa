/** Events that tell of the status itself: each is told when the status comes to say so, which the stored one does not show yet. */
import type { ContainerStatus, PodStatus } from "#model/pod.ts";
import type { PlannedEvent } from "./action.ts";
import type { ContainerView } from "./container-view.ts";
import { egressEvents } from "./egress.ts";
import type { Ending } from "./end-pod.ts";
import type { Scene } from "./move.ts";

export function statusEvents(scene: Scene, status: PodStatus, ending: Ending | undefined): readonly PlannedEvent[] {
  const reports = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return [
    ...verdictEvents(scene, ending),
    ...egressEvents(scene),
    ...scene.views.flatMap((view) => {
      const report = reports.find(({ name }) => name === view.spec.name);
      return report === undefined || isKnown(view, report) ? [] : backOffEvents(scene, view, report);
    }),
  ];
}

function verdictEvents({ pod }: Scene, ending: Ending | undefined): readonly PlannedEvent[] {
  if (ending?.verdict === undefined || pod.status.reason === ending.verdict.reason) return [];
  return [{ type: "Warning", ...ending.verdict }];
}

/** True when the stored status waits for the same reason since the same restart. */
function isKnown({ stored }: ContainerView, { state, restartCount }: ContainerStatus): boolean {
  return stored?.state?.waiting?.reason === state?.waiting?.reason && stored?.restartCount === restartCount;
}

function backOffEvents({ pod }: Scene, { spec, isInit }: ContainerView, { state }: ContainerStatus): readonly PlannedEvent[] {
  const { name, namespace, uid } = pod.metadata;
  const container = { name: spec.name, isInit };
  const reason = state?.waiting?.reason;
  if (reason === "CrashLoopBackOff") {
    const message = `Back-off restarting failed container ${spec.name} in pod ${name}_${namespace}(${uid})`;
    return [{ type: "Warning", reason: "BackOff", message, container }];
  }
  if (reason !== "ImagePullBackOff") return [];
  return [{ type: "Normal", reason: "BackOff", message: `Back-off pulling image "${spec.image ?? ""}"`, container }];
}
