import { describe, expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { type Container, Pods, type PodSpec } from "#model/pod.ts";
import { SteppedClock } from "../../../../../../test/world/stepped-clock.ts";
import { type NodePod, nodePod } from "../node-pod.ts";
import { unsupported } from "./unsupported.ts";

/** A pod as the store keeps it, with its defaults. */
async function stored(spec: Partial<PodSpec>, labels: Record<string, string> = {}): Promise<NodePod> {
  using store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: new SteppedClock() });
  await store.create(Namespaces, { metadata: { name: "ns" } });
  const pod = { metadata: { namespace: "ns", name: "a", labels }, spec: { containers: [{ name: "main", image: "app:1" }], ...spec } };
  return nodePod(await store.create(Pods, pod));
}

const main = (shape: Partial<Container>): Partial<PodSpec> => ({ containers: [{ name: "main", image: "app:1", ...shape }] });

test("a pod that says only what the node can do is not refused", async () => {
  const pod = await stored({
    restartPolicy: "OnFailure",
    terminationGracePeriodSeconds: 3,
    activeDeadlineSeconds: 100,
    hostname: "box",
    runtimeClassName: "runsc",
    tolerations: [{ operator: "Exists" }],
    securityContext: { runAsUser: 1, runAsGroup: 2, fsGroup: 3, supplementalGroups: [4], seccompProfile: { type: "RuntimeDefault" } },
    initContainers: [{ name: "init", image: "app:1" }],
    volumes: [
      { name: "scratch", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
      { name: "all", projected: { sources: [{ configMap: { name: "c" } }, { secret: { name: "s" } }, { downwardAPI: { items: [] } }] } },
    ],
    containers: [
      {
        name: "main",
        image: "app:1",
        ports: [{ containerPort: 80, name: "web" }],
        resources: { limits: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" } },
        volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
        readinessProbe: { httpGet: { port: 80 } },
        lifecycle: { preStop: { exec: { command: ["x"] } }, postStart: { httpGet: { port: 80 } } },
        securityContext: {
          capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
        },
      },
    ],
  });
  expect(unsupported(pod)).toEqual([]);
});

describe("what the node cannot do is named by its field", () => {
  test.each<[string, Partial<PodSpec>]>([
    ["spec.hostNetwork", { hostNetwork: true }],
    ["spec.hostPID", { hostPID: true }],
    ["spec.hostIPC", { hostIPC: true }],
    ["spec.shareProcessNamespace", { shareProcessNamespace: true }],
    ["spec.dnsConfig", { dnsConfig: { nameservers: ["192.0.2.1"] } }],
    ["spec.hostAliases", { hostAliases: [{ ip: "192.0.2.1", hostnames: ["x"] }] }],
    ["spec.setHostnameAsFQDN", { setHostnameAsFQDN: true }],
    ["spec.os", { os: { name: "windows" } }],
    ["spec.securityContext.sysctls", { securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } }],
    ["spec.securityContext.runAsUser", { securityContext: { runAsUser: 65_536 } }],
    ["spec.securityContext.fsGroup", { securityContext: { fsGroup: 1_000_000 } }],
    ["spec.containers[0].securityContext.runAsGroup", main({ securityContext: { runAsUser: 65_535, runAsGroup: 70_000 } })],
    ["spec.securityContext.seccompProfile", { securityContext: { seccompProfile: { type: "Unconfined" } } }],
    ["spec.volumes[0].hostPath", { volumes: [{ name: "v", hostPath: { path: "/" } }] }],
    ["spec.volumes[0].persistentVolumeClaim", { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] }],
    ["spec.volumes[0].nfs", { volumes: [{ name: "v", nfs: { server: "s", path: "/" } }] }],
    ["spec.volumes[0].emptyDir.medium HugePages", { volumes: [{ name: "v", emptyDir: { medium: "HugePages" } }] }],
    [
      "spec.volumes[0].projected.sources[0].serviceAccountToken",
      { serviceAccountName: "x", volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }] },
    ],
    ["spec.initContainers[0].restartPolicy", { initContainers: [{ name: "side", image: "app:1", restartPolicy: "Always" }] }],
    ["spec.containers[0].securityContext.privileged", main({ securityContext: { privileged: true } })],
    ["spec.containers[0].securityContext.seLinuxOptions", main({ securityContext: { seLinuxOptions: { level: "s0" } } })],
    ["spec.containers[0].stdin", main({ stdin: true })],
    ["spec.containers[0].tty", main({ tty: true })],
    ["spec.containers[0].ports with a hostPort", main({ ports: [{ containerPort: 80, hostPort: 80 }] })],
    ["spec.containers[0].resources nvidia.com/gpu", main({ resources: { limits: { "nvidia.com/gpu": "1" } } })],
    ["spec.containers[0].readinessProbe.grpc", main({ readinessProbe: { grpc: { port: 1 } } })],
    ["spec.containers[0].livenessProbe.httpGet.host", main({ livenessProbe: { httpGet: { port: 1, host: "192.0.2.1" } } })],
    ["spec.containers[0].startupProbe.tcpSocket.host", main({ startupProbe: { tcpSocket: { port: 1, host: "192.0.2.1" } } })],
    ["spec.containers[0].lifecycle.preStop.tcpSocket", main({ lifecycle: { preStop: { tcpSocket: { port: 1 } } } })],
    [
      "spec.containers[0].volumeMounts[0].subPath",
      { volumes: [{ name: "v", emptyDir: {} }], ...main({ volumeMounts: [{ name: "v", mountPath: "/v", subPath: "x" }] }) },
    ],
  ])("%s", async (field, spec) => {
    expect(unsupported(await stored(spec))).toEqual([field]);
  });
});

test("a sandbox may ask for a terminal: its daemon opens them", async () => {
  const pod = await stored(main({ stdin: true, tty: true }), { "agentbox.navix.sh/sandbox-pool": "py" });
  expect(unsupported(pod)).toEqual([]);
});
