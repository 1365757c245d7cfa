/** Pods of pools with everything that a node reports, for tests that walk them through a life. Nothing here decides: it does what a node does. */
import { applyJsonPatch } from "#engines/embedded/store/json-patch.ts";
import { annotationKeys, labelKeys, type SandboxPhase } from "#model/keys.ts";
import type { Json, ObjectMeta } from "#model/meta.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Container, ContainerState, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from "#model/pod.ts";

/** A digest that differs for every text. */
export function digestOf(text: string): string {
  return `sha256:${Buffer.from(text).toString("hex").padEnd(64, "0").slice(0, 64)}`;
}

/** An image as pools write it: `registry.invalid/<name>:1-u<use>@<digest of name>`. */
export function pinned(name: string, use = 0): string {
  return `registry.invalid/${name}:1-u${use}@${digestOf(name)}`;
}

export interface PoolPodShape {
  readonly phase?: SandboxPhase;
  readonly id?: string;
  /** Container name to image name, as in `pinned`. */
  readonly images?: Readonly<Record<string, string>>;
  readonly use?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Content of the annotation about the exchange of images. */
  readonly state?: unknown;
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec?: Partial<PodSpec>;
  readonly status?: Partial<PodStatus>;
  readonly ready?: boolean;
}

/** A new, idle, ready pod of pool `py` with one container `main` that waits on image `idle`, unless told otherwise. */
export function aPoolPod(shape: PoolPodShape = {}): Pod {
  const { phase = "idle", id, images = { main: "idle" }, use = 0, ready = true } = shape;
  const containers = Object.entries(images).map(([name, image]): Container => ({ name, image: pinned(image, use) }));
  return {
    metadata: {
      namespace: "ns",
      name: "py-1",
      uid: "uid-1",
      resourceVersion: "100",
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { [labelKeys.sandboxPool]: "py", [labelKeys.sandboxPhase]: phase, ...idLabel(id), ...shape.labels },
      annotations: { [annotationKeys.useCount]: String(use), ...stateAnnotation(shape), ...shape.annotations },
      ...shape.metadata,
    },
    spec: { containers, ...shape.spec },
    status: {
      phase: "Running",
      podIP: "10.0.0.7",
      conditions: [readyCondition(ready)],
      containerStatuses: containers.map(({ name, image = "" }) => aContainerStatus(name, image, { ready })),
      ...shape.status,
    },
  };
}

function idLabel(id: string | undefined): Readonly<Record<string, string>> {
  return id === undefined ? {} : { [labelKeys.sandboxId]: id };
}

function stateAnnotation({ state }: PoolPodShape): Readonly<Record<string, string>> {
  if (state === undefined) return {};
  return { [annotationKeys.inplaceUpdateState]: typeof state === "string" ? state : JSON.stringify(state) };
}

function readyCondition(ready: boolean): PodCondition {
  return { type: "Ready", status: ready ? "True" : "False" };
}

/** A running container, the `restartCount`th of its name. */
export function aContainerStatus(name: string, image: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  const { restartCount = 0 } = more;
  return {
    name,
    image,
    // As containerd reports it: the name and the digest, without any tag.
    imageID: image.replace(/:[^:@/]*@/, "@"),
    containerID: `containerd://${name}-${restartCount}`,
    ready: true,
    started: true,
    restartCount,
    state: { running: { startedAt: "2026-01-01T00:00:01Z" } },
    ...more,
  };
}

/** What a server makes of the pod when it takes the patch. Throws when a test in it does not hold. */
export function patched(pod: Pod, patch: JsonPatch): Pod {
  const next = applyJsonPatch(pod as unknown as Json, patch.operations) as unknown as Pod;
  const resourceVersion = String(Number(pod.metadata.resourceVersion) + 1);
  const isSpecChanged = JSON.stringify(next.spec) !== JSON.stringify(pod.spec);
  const generation = (pod.metadata.generation ?? 1) + (isSpecChanged ? 1 : 0);
  return { ...next, metadata: { ...next.metadata, resourceVersion, generation } };
}

/** The pod after its node has acted: every container with a changed image is replaced by a new one, which runs and is ready. */
export function nodeCatchesUp(pod: Pod): Pod {
  const before = pod.status?.containerStatuses ?? [];
  const containerStatuses = pod.spec.containers.map(({ name, image = "" }) => {
    const status = before.find((container) => container.name === name);
    return status?.image === image ? status : replacement(name, image, status);
  });
  return withStatus(pod, { containerStatuses });
}

/** The container ended by itself and the node started another. */
export function nodeRestarts(pod: Pod, name: string, terminated: NonNullable<ContainerState["terminated"]>): Pod {
  const containerStatuses = (pod.status?.containerStatuses ?? []).map((status) => {
    if (status.name !== name) return status;
    return aContainerStatus(name, status.image, { restartCount: status.restartCount + 1, lastState: { terminated } });
  });
  return withStatus(pod, { containerStatuses });
}

export function withStatus(pod: Pod, status: Partial<PodStatus>): Pod {
  const resourceVersion = String(Number(pod.metadata.resourceVersion) + 1);
  return { ...pod, metadata: { ...pod.metadata, resourceVersion }, status: { ...pod.status, ...status } };
}

function replacement(name: string, image: string, before: ContainerStatus | undefined): ContainerStatus {
  if (before === undefined) return aContainerStatus(name, image);
  const terminated = { exitCode: 143, reason: "Error", ...(before.containerID === undefined ? {} : { containerID: before.containerID }) };
  return aContainerStatus(name, image, { restartCount: before.restartCount + 1, lastState: { terminated } });
}
