/**
 * A pod as the embedded store keeps it. A client may leave out what has a default, so these fields are optional in the model's Pod;
 * admission fills them in (admission/builtin/kubernetes-shape.ts), so the store's rules and the node find them in every pod.
 */
import type { Container, LifecycleHandler, Pod, PodSpec, PodStatus, Probe } from "#model/kubernetes.generated.ts";

type Filled<T, Fields extends keyof T> = Omit<T, Fields> & Required<Pick<T, Fields>>;

export interface StoredPod extends Omit<Pod, "spec"> {
  readonly spec: StoredPodSpec;
  readonly status: PodStatus;
}

type Containers = "containers" | "initContainers" | "ephemeralContainers";
type PodDefaults = "restartPolicy" | "terminationGracePeriodSeconds" | "dnsPolicy" | "securityContext" | "schedulerName";

export interface StoredPodSpec extends Omit<Filled<PodSpec, PodDefaults>, Containers> {
  readonly containers: readonly StoredContainer[];
  readonly initContainers?: readonly StoredContainer[];
  readonly ephemeralContainers?: readonly StoredContainer[];
}

type Probes = "livenessProbe" | "readinessProbe" | "startupProbe";

export interface StoredContainer extends Omit<Filled<Container, "resources" | "terminationMessagePolicy">, Probes> {
  readonly livenessProbe?: StoredProbe;
  readonly readinessProbe?: StoredProbe;
  readonly startupProbe?: StoredProbe;
}

export type StoredProbe = Filled<Probe, "timeoutSeconds" | "periodSeconds" | "successThreshold" | "failureThreshold">;

/** What a probe or a hook does. */
export type Handler = LifecycleHandler & Pick<Probe, "grpc">;
