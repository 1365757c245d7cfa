import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { EventRecorder } from "#kube/events/event-recorder.ts";
import type { EndDeps } from "./end/write-end.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { EndRecorder } from "./record/end-recorder.ts";
import type { LogKeeper } from "./record/keep-log.ts";

/** What the behaviours of a single pod work with. */
export interface PodDeps extends EndDeps {
  readonly recorder: EndRecorder;
  /** Left out: logs of ended sandboxes are not kept. */
  readonly logs?: Pick<LogKeeper, "keep" | "forget"> | undefined;
  readonly observer: PodObserver;
  readonly events: PodEvents;
  /** Asked before a pod is idle again: only it knows which container it is in. */
  readonly daemon: Pick<DaemonClient, "health">;
  /** How long a pod may take back to idle before it is replaced. */
  readonly recycleTimeoutMs: number;
}

/** For people: why a sandbox failed, on its pod. */
export type PodEvents = Pick<EventRecorder, "record" | "forget">;

/** How an exchange of a pod's containers went: `starting` for a sandbox, `stopping` after one. */
export interface ExchangeEnd {
  readonly exchange: "starting" | "stopping";
  readonly result: "completed" | "failed";
}

/** Called by the process whose write succeeded, so once for each change (W14). */
export interface PodObserver {
  /** The sandbox is running after its containers were exchanged; the pod is as it is now. */
  started(pod: Pod): void;
  exchanged(pod: Pod, end: ExchangeEnd): void;
  /** The pod is idle again; as it was before. */
  recycled(pod: Pod): void;
  /** Nothing of the sandbox is left but its record. */
  ended(record: SandboxRecord): void;
}

export const defaultRecycleTimeoutMs = 60_000;
