import { expect, test } from "vitest";
import type { Container, Pod, PodSpec } from "#model/pod.ts";
import { Pods } from "#model/pod.ts";
import { aPod, refusal } from "./helpers.ts";
import { describeServers } from "./servers.ts";

const image = "registry.invalid/app:1";
const containers = (more: Partial<Container>): Partial<PodSpec> => ({ containers: [{ name: "main", image, ...more }] });

const badSpecs: readonly [string, Partial<PodSpec>, string, string][] = [
  ["no containers", { containers: [] }, "spec.containers", "FieldValueRequired"],
  ["a container without a name", { containers: [{ name: "", image }] }, "spec.containers[0].name", "FieldValueRequired"],
  ["a container name with capitals", { containers: [{ name: "Main", image }] }, "spec.containers[0].name", "FieldValueInvalid"],
  [
    "two containers of one name",
    {
      containers: [
        { name: "a", image },
        { name: "a", image },
      ],
    },
    "spec.containers[1].name",
    "FieldValueDuplicate",
  ],
  [
    "an init container with a container's name",
    { containers: [{ name: "a", image }], initContainers: [{ name: "a", image }] },
    "spec.initContainers[0].name",
    "FieldValueDuplicate",
  ],
  ["a container without an image", { containers: [{ name: "a" }] }, "spec.containers[0].image", "FieldValueRequired"],
  ["an image with a space before it", containers({ image: " app" }), "spec.containers[0].image", "FieldValueInvalid"],
  ["an unknown restart policy", { restartPolicy: "Sometimes" as "Always" }, "spec.restartPolicy", "FieldValueNotSupported"],
  [
    "an unknown pull policy",
    containers({ imagePullPolicy: "Maybe" as "Always" }),
    "spec.containers[0].imagePullPolicy",
    "FieldValueNotSupported",
  ],
  [
    "an environment variable without a name",
    containers({ env: [{ name: "", value: "x" }] }),
    "spec.containers[0].env[0].name",
    "FieldValueRequired",
  ],
  [
    "a port beyond 65535",
    containers({ ports: [{ containerPort: 70_000 }] }),
    "spec.containers[0].ports[0].containerPort",
    "FieldValueInvalid",
  ],
  [
    "two ports of one name",
    containers({
      ports: [
        { name: "web", containerPort: 80 },
        { name: "web", containerPort: 81 },
      ],
    }),
    "spec.containers[0].ports[1].name",
    "FieldValueDuplicate",
  ],
  [
    "a mount of a volume that is not there",
    containers({ volumeMounts: [{ name: "data", mountPath: "/d" }] }),
    "spec.containers[0].volumeMounts[0].name",
    "FieldValueNotFound",
  ],
  [
    "two volumes of one name",
    {
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "v", emptyDir: {} },
      ],
    },
    "spec.volumes[1].name",
    "FieldValueDuplicate",
  ],
  [
    "two mounts on one path",
    {
      volumes: [{ name: "v", emptyDir: {} }],
      ...containers({
        volumeMounts: [
          { name: "v", mountPath: "/d" },
          { name: "v", mountPath: "/d" },
        ],
      }),
    },
    "spec.containers[0].volumeMounts[1].mountPath",
    "FieldValueInvalid",
  ],
  [
    "a request above its limit",
    containers({ resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }),
    "spec.containers[0].resources.requests",
    "FieldValueInvalid",
  ],
  [
    "a negative limit",
    containers({ resources: { limits: { memory: "-1" } } }),
    "spec.containers[0].resources.limits[memory]",
    "FieldValueInvalid",
  ],
  [
    "a probe without a handler",
    containers({ readinessProbe: { periodSeconds: 1 } }),
    "spec.containers[0].readinessProbe",
    "FieldValueRequired",
  ],
  [
    "a probe with a negative period",
    containers({ readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: -1 } }),
    "spec.containers[0].readinessProbe.periodSeconds",
    "FieldValueInvalid",
  ],
  ["a negative deadline", { activeDeadlineSeconds: -1 }, "spec.activeDeadlineSeconds", "FieldValueInvalid"],
];

describeServers("pods", (server) => {
  test("a pod is filled with the defaults of Kubernetes", async () => {
    const namespace = await server().namespace();
    const made = await server().client.create(Pods, aPod(namespace, "plain"));
    expect(made.spec).toEqual({
      containers: [
        {
          name: "main",
          image,
          imagePullPolicy: "IfNotPresent",
          resources: {},
          terminationMessagePath: "/dev/termination-log",
          terminationMessagePolicy: "File",
        },
      ],
      dnsPolicy: "ClusterFirst",
      enableServiceLinks: true,
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      restartPolicy: "Always",
      schedulerName: "default-scheduler",
      securityContext: {},
      terminationGracePeriodSeconds: 30,
      tolerations: [
        { effect: "NoExecute", key: "node.kubernetes.io/not-ready", operator: "Exists", tolerationSeconds: 300 },
        { effect: "NoExecute", key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300 },
      ],
    });
    expect(made.status).toEqual({ phase: "Pending", qosClass: "BestEffort" });
  });

  test.for([
    ["app", "Always"],
    ["app:latest", "Always"],
    ["app:1", "IfNotPresent"],
    [`app@sha256:${"a".repeat(64)}`, "IfNotPresent"],
    [`localhost:5000/app:1-u3@sha256:${"a".repeat(64)}`, "IfNotPresent"],
  ] as const)("the image %j is pulled %s by default", async ([name, policy]) => {
    const namespace = await server().namespace();
    const made = await server().client.create(Pods, aPod(namespace, "p", { spec: containers({ image: name }) }));
    expect(made.spec.containers[0]?.imagePullPolicy).toBe(policy);
  });

  test("requests follow limits, and the class of service follows both", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const limits = { cpu: "500m", memory: "64Mi" };
    const guaranteed = await client.create(Pods, aPod(namespace, "guaranteed", { spec: containers({ resources: { limits } }) }));
    expect(guaranteed.spec.containers[0]?.resources).toEqual({ limits, requests: limits });
    expect(guaranteed.status?.qosClass).toBe("Guaranteed");
    const burstable = await client.create(
      Pods,
      aPod(namespace, "burstable", { spec: containers({ resources: { requests: { cpu: "100m" } } }) }),
    );
    expect(burstable.status?.qosClass).toBe("Burstable");
  });

  test("ports and probes get their defaults", async () => {
    const namespace = await server().namespace();
    const spec = containers({ ports: [{ containerPort: 80 }], readinessProbe: { httpGet: { port: 80 } } });
    const made = await server().client.create(Pods, aPod(namespace, "p", { spec }));
    expect(made.spec.containers[0]?.ports).toEqual([{ containerPort: 80, protocol: "TCP" }]);
    expect(made.spec.containers[0]?.readinessProbe).toEqual({
      httpGet: { path: "/", port: 80, scheme: "HTTP" },
      failureThreshold: 3,
      periodSeconds: 10,
      successThreshold: 1,
      timeoutSeconds: 1,
    });
  });

  test("volumes get their defaults", async () => {
    const namespace = await server().namespace();
    const volumes = [
      { name: "scratch", emptyDir: {} },
      { name: "bare" },
      { name: "config", configMap: { name: "c" } },
      { name: "secret", secret: { secretName: "s" } },
    ];
    const made = await server().client.create(Pods, aPod(namespace, "p", { spec: { volumes } }));
    expect(made.spec.volumes).toEqual([
      { name: "scratch", emptyDir: {} },
      { name: "bare", emptyDir: {} },
      { name: "config", configMap: { name: "c", defaultMode: 420 } },
      { name: "secret", secret: { secretName: "s", defaultMode: 420 } },
    ]);
  });

  test.for(badSpecs)("%s: refused at its field", async ([, spec, field, reason]) => {
    const namespace = await server().namespace();
    const no = await refusal(server().client.create(Pods, aPod(namespace, "bad", { spec })));
    expect(no.reason).toBe("Invalid");
    expect(no.causes.map((cause) => [cause.field, cause.reason])).toContainEqual([field, reason]);
  });

  test("an image may change in place, with tag and digest", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "swap"));
    const next = `registry.invalid/app:1-u7@sha256:${"b".repeat(64)}`;
    const swapped = await client.patch(
      Pods,
      { namespace, name: "swap" },
      { type: "json", operations: [{ op: "replace", path: "/spec/containers/0/image", value: next }] },
    );
    expect(swapped.spec).toEqual({ ...made.spec, containers: [{ ...made.spec.containers[0], image: next }] });
  });

  const forbidden: readonly [string, (pod: Pod) => Pod["spec"]][] = [
    ["a command", (pod) => ({ ...pod.spec, containers: pod.spec.containers.map((one) => ({ ...one, command: ["sh"] })) })],
    [
      "an environment variable",
      (pod) => ({ ...pod.spec, containers: pod.spec.containers.map((one) => ({ ...one, env: [{ name: "A", value: "b" }] })) }),
    ],
    ["a further container", (pod) => ({ ...pod.spec, containers: [...pod.spec.containers, { name: "side", image }] })],
    ["the restart policy", (pod) => ({ ...pod.spec, restartPolicy: "Never" })],
    ["the node", (pod) => ({ ...pod.spec, nodeName: "elsewhere" })],
    ["the host name", (pod) => ({ ...pod.spec, hostname: "other" })],
  ];
  test.for(forbidden)("%s of a pod cannot be changed", async ([, change]) => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "fixed"));
    const no = await refusal(client.update(Pods, { ...made, spec: change(made) }));
    expect(no.reason).toBe("Invalid");
    expect(no.causes.some((cause) => cause.reason === "FieldValueForbidden" && cause.field.startsWith("spec"))).toBe(true);
    expect(await client.get(Pods, { namespace, name: "fixed" })).toEqual(made);
  });

  test("a toleration may be added to a pod but not removed", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "tolerant"));
    const tolerations = [...(made.spec.tolerations ?? []), { key: "example.com/x", operator: "Exists" as const }];
    const next = await client.update(Pods, { ...made, spec: { ...made.spec, tolerations } });
    expect(next.spec.tolerations).toHaveLength(3);
    expect((await refusal(client.update(Pods, { ...next, spec: { ...next.spec, tolerations: [] } }))).reason).toBe("Invalid");
  });

  test("a deadline may be set and lowered but not raised", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "dated"));
    const dated = await client.update(Pods, { ...made, spec: { ...made.spec, activeDeadlineSeconds: 100 } });
    const lower = await client.update(Pods, { ...dated, spec: { ...dated.spec, activeDeadlineSeconds: 50 } });
    const no = await refusal(client.update(Pods, { ...lower, spec: { ...lower.spec, activeDeadlineSeconds: 60 } }));
    expect(no).toMatchObject({ reason: "Invalid", fields: ["spec.activeDeadlineSeconds"] });
  });

  test("the status of a pod is what its node writes", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(Pods, aPod(namespace, "reported", { spec: { nodeName: "n" } }));
    const status: Pod["status"] = {
      phase: "Running",
      podIP: "10.0.0.7",
      podIPs: [{ ip: "10.0.0.7" }],
      qosClass: "BestEffort",
      conditions: [{ type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" }],
      containerStatuses: [
        {
          name: "main",
          image,
          imageID: `app@sha256:${"c".repeat(64)}`,
          containerID: "containerd://abc",
          ready: true,
          started: true,
          restartCount: 1,
          state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
          lastState: {
            terminated: { exitCode: 137, reason: "OOMKilled", startedAt: "2026-01-01T00:00:00Z", finishedAt: "2026-01-01T00:00:01Z" },
          },
        },
      ],
    };
    const next = await client.update(Pods, { ...made, status }, { subresource: "status" });
    expect(next.status).toMatchObject(status);
    expect(next.spec).toEqual(made.spec);
  });
});
