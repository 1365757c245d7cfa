/** What a real API server says to the pods that we render, and to our question what its cluster can do. */
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { watchClusterFeatures } from "#engines/kubernetes/cluster-features.ts";
import { systemClock } from "#lib/clock.ts";
import { type ClusterNode, ClusterNodes } from "#model/cluster-kinds.ts";
import { Namespaces } from "#model/core-kinds.ts";
import type { Json } from "#model/meta.ts";
import { type Pod, Pods, type PodSpec } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { DaemonDelivery } from "#sandbox/pods/daemon-delivery.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";
import { digestOf } from "../world/pool-pods.ts";
import { recordedLog } from "../world/recorded-log.ts";

const bed = inject("kubernetes");
let client: KubernetesClient;
beforeAll(async () => {
  client = await kubernetesClient({ url: bed.url, token: bed.token, ca: bed.ca });
  for (const level of ["restricted", "baseline"]) {
    await client.create(Namespaces, { metadata: { name: level, labels: { "pod-security.kubernetes.io/enforce": level } } });
  }
  return async () => {
    for (const name of ["restricted", "baseline"]) await client.delete(Namespaces, { name });
    await client.close();
  };
});

const deliveries: readonly DaemonDelivery[] = [
  { kind: "image-volume", image: "registry.invalid/daemon:1" },
  { kind: "init-container", image: "registry.invalid/daemon:1" },
];

interface Wishes {
  readonly namespace: string;
  readonly delivery: DaemonDelivery;
  readonly security?: { readonly [key: string]: Json };
  readonly spec?: Partial<PodSpec>;
}

async function offer({ namespace, delivery, security = {}, spec = {} }: Wishes): Promise<Pod> {
  const pool: SandboxPool = { metadata: { namespace, name: "py", uid: "0c9f4a4e-5b34-4f5e-9df7-0f4a4e5b34aa" }, spec: { replicas: 1 } };
  const containers = [{ name: "main", image: "registry.invalid/app:1", securityContext: security }];
  const template = { podCreationImagePolicy: "PoolDefaultImage", template: { spec: { containers, ...spec } } } as const;
  const digests = { "registry.invalid/app:1": digestOf("app") };
  const rendered = renderPod({ pool, template, name: "py-a", digests, publicKey: "a2V5", delivery: () => delivery, userNamespaces: true });
  if (rendered.kind !== "pod") throw new Error(JSON.stringify(rendered));
  return client.create(Pods, rendered.pod, { dryRun: true, fieldValidation: "Strict" });
}

describe.each(deliveries)("rendered pods with %o", (delivery) => {
  test("are taken by a namespace that enforces restricted, when their template names an unprivileged user", async () => {
    const { spec } = await offer({ namespace: "restricted", delivery, security: { runAsUser: 1000 } });
    expect(spec.containers[0]?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: "/.envd", readOnly: true }));
  });

  test("are taken by one that enforces baseline, when it leaves the user to its image", async () => {
    await expect(offer({ namespace: "baseline", delivery })).resolves.toMatchObject({ spec: { hostUsers: false } });
    const refused = await offer({ namespace: "restricted", delivery }).catch((error: unknown) => error);
    expect(isApiError(refused, "Forbidden") && refused.message).toMatch(/violates PodSecurity "restricted/);
  });

  test("may ask for sudo where baseline is enforced", async () => {
    const { spec } = await offer({ namespace: "baseline", delivery, security: { runAsUser: 1000, allowPrivilegeEscalation: true } });
    expect(spec.containers[0]?.securityContext).toMatchObject({ allowPrivilegeEscalation: true, runAsNonRoot: true });
  });

  test("say where they run as their template does", async () => {
    const own: Partial<PodSpec> = {
      tolerations: [{ key: "sandboxes", operator: "Exists" }],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", labelSelector: { matchLabels: { a: "b" } } },
      ],
      nodeSelector: { pool: "sandboxes" },
    };
    const { spec } = await offer({ namespace: "baseline", delivery, spec: own });
    expect(spec).toMatchObject({ ...own, tolerations: expect.arrayContaining([...(own.tolerations ?? [])]) as unknown });
  });
});

test("the server is asked for image volumes, and its nodes for what they are", async () => {
  const node: ClusterNode = { metadata: { name: "n1" } };
  await client.create(ClusterNodes, node);
  onTestFinished(() => client.delete(ClusterNodes, { name: "n1" }));
  const status = {
    conditions: [{ type: "Ready", status: "True" }],
    nodeInfo: {
      kubeletVersion: "v1.36.3",
      containerRuntimeVersion: "containerd://2.2.1",
      ...Object.fromEntries(
        ["machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "kubeProxyVersion", "operatingSystem", "architecture"].map(
          (name) => [name, "x"],
        ),
      ),
    },
    runtimeHandlers: [{ name: "", features: { userNamespaces: true } }],
  };
  await client.patch(ClusterNodes, { name: "n1" }, { type: "merge", body: { status } }, { subresource: "status" });
  await using features = await watchClusterFeatures({ client, clock: systemClock, log: recordedLog().log, namespace: "default" });
  expect({ imageVolumes: features.imageVolumes(), userNamespaces: features.userNamespaces() }).toEqual({
    imageVolumes: true,
    userNamespaces: true,
  });
});
