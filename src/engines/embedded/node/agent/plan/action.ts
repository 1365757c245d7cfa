/** What a plan asks for. Actions are carried out in order, one at a time; then the pod is looked at again and planned anew. */
import type { ResolvedImage } from "#images/resolved-image.ts";
import type { PodStatus } from "#model/pod.ts";
import type { ContainerSignal, PodVolumes } from "../../pod-runtime.ts";
import type { StoredContainer, StoredProbe } from "#engines/embedded/stored-pod.ts";
import type { ProbeKind } from "./observed.ts";

export type Action =
  | { readonly kind: "ensure-pod" }
  /** `wish` is the annotation's text, for the answer to one that fails. */
  | { readonly kind: "mount-volumes"; readonly wish: string; readonly volumes: PodVolumes }
  /** Goes on in the background. */
  | { readonly kind: "pull"; readonly container: StoredContainer; readonly id: string; readonly failures: number }
  | CreateAction
  /** For a container that an agent made and did not live to start. */
  | { readonly kind: "start"; readonly container: StoredContainer; readonly id: string }
  | {
      readonly kind: "begin-stop";
      readonly container: StoredContainer;
      readonly id: string;
      readonly graceMs: number;
      readonly why: string;
    }
  /** Goes on in the background. */
  | { readonly kind: "pre-stop"; readonly container: StoredContainer; readonly id: string; readonly withinMs: number }
  | { readonly kind: "signal"; readonly id: string; readonly signal: ContainerSignal }
  | { readonly kind: "remove-container"; readonly id: string }
  /** Freezes the pod for a wish to pause or to rest; thaws it without one. */
  | { readonly kind: "set-frozen"; readonly wish: string | undefined }
  | { readonly kind: "remove-pod" }
  /** Everything of the pod is gone and recorded: the object may go too. */
  | { readonly kind: "delete-object" };

/** Makes a container and starts it. */
export interface CreateAction {
  readonly kind: "create";
  readonly container: StoredContainer;
  readonly isInit: boolean;
  readonly id: string;
  readonly attempt: number;
  readonly image: ResolvedImage;
  /** When the one before it ended; undefined for the first. */
  readonly previousEndedAt: number | undefined;
}

export interface PlannedEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** The container it is about. */
  readonly container?: { readonly name: string; readonly isInit: boolean };
}

/** A probe that should be running now. */
export interface ProbeTarget {
  readonly id: string;
  readonly kind: ProbeKind;
  readonly container: StoredContainer;
  readonly probe: StoredProbe;
  readonly address: string;
  readonly startedAt: number;
  /** What is believed until the first answer. */
  readonly initial: "success" | "failure" | undefined;
}

export interface Plan {
  readonly actions: readonly Action[];
  /** As of now, before the actions. */
  readonly status: PodStatus;
  readonly events: readonly PlannedEvent[];
  readonly probes: readonly ProbeTarget[];
  /** When to look again if nothing happens before. */
  readonly recheckInMs: number | undefined;
}
