/** Pods that look as if a node ran them, at an address where something answers as their daemons would. No container is behind them. */
import type { ObjectClient } from "#kube/object-client.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { type Pod, Pods, type PodStatus } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";

const digest = `sha256:${"0".repeat(64)}`;
const repository = "registry.invalid/idle";
const image = `${repository}:1-u0@${digest}`;

/** The namespace and pool of pods that another process creates. */
export async function createEmptyPool(client: ObjectClient, { namespace, name }: PoolRef): Promise<SandboxPool> {
  return client.create(SandboxPools, {
    metadata: { namespace, name },
    spec: {
      replicas: 0,
      podCreationImagePolicy: "PoolDefaultImage",
      template: { spec: { containers: [{ name: "main", image: `${repository}@${digest}` }] } },
    },
  });
}

/** Created but not ready: the simulated daemon must know the pod's uid first. */
export async function createPod(client: ObjectClient, pool: PoolRef, name: string, daemonPort: number): Promise<Pod> {
  const labels = { [labelKeys.sandboxPool]: pool.name, [labelKeys.sandboxPhase]: "idle" };
  const env = [{ name: "AGENTBOX_ENVD_PORT", value: String(daemonPort) }];
  return client.create(Pods, {
    metadata: { namespace: pool.namespace, name, labels, annotations: { [annotationKeys.useCount]: "0" } },
    spec: { containers: [{ name: "main", image, env }] },
  });
}

/** As its node would report it. */
export async function makeReady(client: ObjectClient, pod: Pod, podIP: string): Promise<void> {
  await client.update(Pods, { ...pod, status: readyStatus(pod, podIP) }, { subresource: "status" });
}

function readyStatus({ metadata }: Pod, podIP: string): PodStatus {
  const main = {
    name: "main",
    image,
    imageID: `${repository}@${digest}`,
    containerID: `containerd://${metadata.uid ?? ""}`,
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: metadata.creationTimestamp ?? "" } },
  };
  return { phase: "Running", podIP, conditions: [{ type: "Ready", status: "True" }], containerStatuses: [main] };
}
