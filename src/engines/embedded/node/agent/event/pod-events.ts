/** What a node tells about its pods. */
import { EventRecorder, type EventRecorderDeps } from "#kube/events/event-recorder.ts";
import type { PlannedEvent } from "../plan/action.ts";
import type { NodePod } from "../node-pod.ts";

export interface PodEventsDeps extends Omit<EventRecorderDeps, "component" | "host"> {
  readonly nodeName: string;
}

export class PodEvents {
  readonly #recorder: EventRecorder;

  constructor({ nodeName, ...deps }: PodEventsDeps) {
    this.#recorder = new EventRecorder({ ...deps, component: "agentbox-node", host: nodeName });
  }

  record({ metadata: { namespace, name, uid } }: NodePod, { container, ...happening }: PlannedEvent): void {
    const fieldPath = container === undefined ? undefined : `spec.${container.isInit ? "initContainers" : "containers"}{${container.name}}`;
    this.#recorder.record({ apiVersion: "v1", kind: "Pod", namespace, name, uid, fieldPath }, happening);
  }

  /** The pod is gone; its events go by their age. */
  forget(uid: string): void {
    this.#recorder.forget(uid);
  }

  /** Resolves when everything told so far is written or dropped. */
  async written(): Promise<void> {
    await this.#recorder.written();
  }
}
