import type { Pod, PodStatus } from "#model/pod.ts";

const digest = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

/** A sandbox pod as it really looks: about 3 KB of JSON with its status. */
export function samplePod(namespace: string, i: number): Pod {
  return {
    metadata: {
      namespace,
      name: `python-${String(i).padStart(6, "0")}`,
      labels: {
        "agentbox.navix.sh/sandbox-pool": `pool-${i % 20}`,
        "agentbox.navix.sh/sandbox-phase": i % 3 === 0 ? "running" : "idle",
        "agentbox.navix.sh/managed-by": "sandbox-api-server",
        "agentbox.navix.sh/env": "python",
        "scheduling.navix.sh/team": "research",
      },
      annotations: {
        "agentbox.navix.sh/template-name": "python",
        "agentbox.navix.sh/template-version": "v1.4.0",
        "agentbox.navix.sh/inplace-update-state": JSON.stringify({
          phase: "completed",
          targetImages: { main: `registry.invalid/python:3.12-u1@sha256:${digest}` },
          targetPodPhase: "idle",
          updateTimestamp: "2026-01-01T00:00:00Z",
        }),
      },
      finalizers: ["agentbox.navix.sh/sandbox-protection"],
    },
    spec: {
      nodeName: `node-${i % 50}`,
      terminationGracePeriodSeconds: 5,
      automountServiceAccountToken: false,
      containers: [
        {
          name: "main",
          image: `registry.invalid/python:3.12-u1@sha256:${digest}`,
          command: ["/.envd/init", "--", "/.envd/node", "/.envd/envd.js"],
          env: [
            { name: "AGENTBOX_PORT", value: "49983" },
            { name: "POD_UID", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.uid" } } },
          ],
          ports: [{ containerPort: 49_983, name: "envd", protocol: "TCP" }],
          resources: { limits: { cpu: "1", memory: "512Mi" }, requests: { cpu: "100m", memory: "128Mi" } },
          readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 5 },
          volumeMounts: [{ name: "envd", mountPath: "/.envd", readOnly: true }],
        },
      ],
      volumes: [{ name: "envd", emptyDir: {} }],
    },
  };
}

/** What its node reports once it runs. */
export function sampleStatus(i: number): PodStatus {
  const ip = `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
  return {
    phase: "Running",
    qosClass: "Burstable",
    podIP: ip,
    podIPs: [{ ip }],
    startTime: "2026-01-01T00:00:00Z",
    conditions: ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
      type,
      status: "True",
      lastProbeTime: null,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    })),
    containerStatuses: [
      {
        name: "main",
        image: "registry.invalid/python:3.12-u1",
        imageID: `registry.invalid/python@sha256:${digest}`,
        containerID: `containerd://${digest.slice(0, 56)}${String(i).padStart(8, "0")}`,
        ready: true,
        started: true,
        restartCount: 1,
        state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
      },
    ],
  };
}
