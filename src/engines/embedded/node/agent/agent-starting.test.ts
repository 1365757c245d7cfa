import { describe, expect, test } from "vitest";
import { ConfigMaps, Secrets } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { aContainer, digestFor, NodeWorld } from "../../../../../test/world/node-world.ts";

describe("placing", () => {
  test("a pod without a node gets this one, and an event says so", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    expect((await world.thePod("a")).spec.nodeName).toBe("node-1");
    expect(await world.events("Scheduled")).toMatchObject([{ message: "Successfully assigned default/a to node-1", type: "Normal" }]);
  });

  test("a pod of another node is left alone", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { nodeName: "elsewhere" });
    expect((await world.thePod("a")).status).toMatchObject({ phase: "Pending" });
    expect(world.runtime.present()).toEqual([]);
  });

  test("a pod waits until its scheduling gates are open", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { schedulingGates: [{ name: "example.com/quota" }] });
    expect((await world.thePod("a")).spec.nodeName).toBeUndefined();
    await world.patchPod("a", { spec: { schedulingGates: null } });
    expect((await world.thePod("a")).status?.phase).toBe("Running");
  });

  test("a pod that selects another node stays pending and is told why, once", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { nodeSelector: { "kubernetes.io/arch": "s390x" } });
    await world.patchPod("a", { metadata: { labels: { touched: "yes" } } });
    expect(await world.condition("a", "PodScheduled")).toMatchObject({ status: "False", reason: "Unschedulable" });
    expect(await world.events("FailedScheduling")).toMatchObject([{ count: 1, type: "Warning" }]);
  });
});

describe("starting", () => {
  test("a started pod has everything in its status that a kubelet would write", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    const { status } = await world.thePod("a");
    expect(status).toMatchObject({
      phase: "Running",
      podIP: "10.88.0.2",
      podIPs: [{ ip: "10.88.0.2" }],
      hostIP: "192.0.2.1",
      hostIPs: [{ ip: "192.0.2.1" }],
      startTime: "2026-01-01T00:00:00Z",
      qosClass: "BestEffort",
      observedGeneration: 1,
    });
    expect(status?.conditions?.map(({ type, status: value }) => `${type} ${value}`)).toEqual([
      "PodReadyToStartContainers True",
      "Initialized True",
      "Ready True",
      "ContainersReady True",
      "PodScheduled True",
    ]);
    expect(status?.containerStatuses).toEqual([
      {
        name: "main",
        state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
        lastState: {},
        ready: true,
        started: true,
        restartCount: 0,
        image: "registry.invalid/app:1",
        imageID: `registry.invalid/app@${digestFor("registry.invalid/app:1")}`,
        containerID: expect.stringMatching(/^agentbox:\/\/[0-9a-f]{64}$/) as string,
      },
    ]);
  });

  test("a pod that is as it should be is not written again", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    const before = (await world.thePod("a")).metadata.resourceVersion;
    await world.step(10 * 60_000);
    expect((await world.thePod("a")).metadata.resourceVersion).toBe(before);
  });

  test("all containers of a pod share its slot", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer(), aContainer({ name: "side" })] });
    expect(world.runtime.present()).toMatchObject([{ containers: [{ name: "main" }, { name: "side" }] }]);
    expect((await world.thePod("a")).status?.phase).toBe("Running");
  });

  test("numbers tell how many containers were started and how long pods took", async () => {
    await using world = await NodeWorld.start();
    world.images.pullFor(() => 3_000);
    world.runtime.fail("createContainer", { message: "no luck" });
    await world.createPod("a");
    await world.step(10_000);
    const numbers = await world.registry.metrics();
    expect(numbers).toContain('agentbox_node_container_starts_total{result="create_failed"} 1');
    expect(numbers).toContain('agentbox_node_container_starts_total{result="started"} 1');
    expect(numbers).toContain("agentbox_node_pod_ready_seconds_sum 4");
    expect(numbers).toContain("agentbox_node_pods 1");
  });

  test("events tell the story of a start", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    expect([...(await world.reasons())].sort()).toEqual(["Created", "Pulled", "Scheduled", "Started"]);
    expect(await world.events("Pulled")).toMatchObject([
      {
        message: 'Container image "registry.invalid/app:1" already present on machine',
        involvedObject: { fieldPath: "spec.containers{main}" },
      },
    ]);
  });

  test("init containers run one after the other before the others start", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(({ name }) => (name.startsWith("init") ? { exitsAfterMs: 1_000 } : {}));
    await world.createPod("a", { initContainers: [aContainer({ name: "init-1" }), aContainer({ name: "init-2" })] });
    expect(world.runtime.starts.map(({ name }) => name)).toEqual(["init-1"]);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Pending",
      containerStatuses: [{ state: { waiting: { reason: "PodInitializing" } } }],
    });
    expect(await world.condition("a", "Initialized")).toMatchObject({
      status: "False",
      reason: "ContainersNotInitialized",
      message: "containers with incomplete status: [init-1 init-2]",
    });
    await world.step(1_000);
    expect(world.runtime.starts.map(({ name }) => name)).toEqual(["init-1", "init-2"]);
    await world.step(1_000);
    expect(world.runtime.starts.map(({ name }) => name)).toEqual(["init-1", "init-2", "main"]);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Running",
      initContainerStatuses: [{ ready: true, state: { terminated: { exitCode: 0, reason: "Completed" } } }, { ready: true }],
    });
  });

  test("an init container that fails is started again under the pod's policy", async () => {
    await using world = await NodeWorld.start();
    let failures = 1;
    world.runtime.behave(({ name }) => (name === "init" ? { exitsAfterMs: 100, exitCode: failures-- > 0 ? 1 : 0 } : {}));
    await world.createPod("a", { initContainers: [aContainer({ name: "init" })], restartPolicy: "OnFailure" });
    await world.step(300);
    expect(world.runtime.starts.map(({ name, attempt }) => `${name} ${attempt}`)).toEqual(["init 0", "init 1", "main 0"]);
  });

  test("an init container that fails ends a pod that is never restarted", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 100, exitCode: 3 }));
    await world.createPod("a", { initContainers: [aContainer({ name: "init" })], restartPolicy: "Never" });
    await world.step(200);
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Failed",
      initContainerStatuses: [{ state: { terminated: { exitCode: 3 } } }],
    });
    expect(world.runtime.starts).toHaveLength(1);
    expect(world.runtime.present()).toEqual([]);
  });

  test("the runtime is told what the pod says", async () => {
    await using world = await NodeWorld.start();
    await world.store.create(ConfigMaps, { metadata: { namespace: "default", name: "settings" }, data: { mode: "fast" } });
    await world.store.create(Secrets, { metadata: { namespace: "default", name: "keys" }, stringData: { token: "s3cret" } });
    await world.createPod("a", {
      containers: [
        aContainer({
          command: ["/run", "$(MODE)"],
          env: [
            { name: "MODE", valueFrom: { configMapKeyRef: { name: "settings", key: "mode" } } },
            { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
            { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          ],
          volumeMounts: [{ name: "keys", mountPath: "/keys" }],
          resources: { limits: { cpu: "500m", memory: "256Mi" } },
        }),
      ],
      volumes: [{ name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } }],
    });
    const [plan] = world.runtime.starts;
    expect(plan).toMatchObject({
      argv: ["/run", "fast"],
      env: { MODE: "fast", TOKEN: "s3cret", IP: "10.88.0.2", HOSTNAME: "a" },
      resources: { limits: { cpu: "500m", memory: "256Mi" } },
      mounts: [{ kind: "files", path: "/keys", files: [{ path: "token", mode: 0o400 }] }],
      daemon: false,
    });
    expect(plan?.logFile).toMatch(/\/logs\/pods\/default_a_[0-9a-f-]+\/main\/0\.log$/);
  });

  test("a pod of a pool has the daemon in its first container and nowhere else", async () => {
    await using world = await NodeWorld.start();
    const pod = await world.createPod("a", {
      labels: { "agentbox.navix.sh/sandbox-pool": "py" },
      containers: [aContainer(), aContainer({ name: "side" })],
    });
    const [main, side] = world.runtime.starts;
    expect(main).toMatchObject({ daemon: true, env: { AGENTBOX_POD_UID: pod.metadata.uid, AGENTBOX_PUBLIC_KEY: "the public key" } });
    expect(main?.argv[0]).toBe("/.envd/init");
    expect(side).toMatchObject({ daemon: false, argv: ["/bin/app", "serve"] });
  });
});

describe("trouble while starting", () => {
  test("a missing ConfigMap holds the container back until it is there", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ envFrom: [{ configMapRef: { name: "settings" } }] })] });
    expect(await world.containerStatus("a")).toMatchObject({
      state: { waiting: { reason: "CreateContainerConfigError", message: 'configmap "settings" not found' } },
    });
    expect(await world.events("Failed")).toMatchObject([{ message: 'Error: configmap "settings" not found' }]);
    await world.store.create(ConfigMaps, { metadata: { namespace: "default", name: "settings" }, data: { mode: "fast" } });
    await world.step(1_000);
    expect(world.runtime.starts).toMatchObject([{ env: { mode: "fast" } }]);
  });

  test("a volume that cannot be filled leaves the container creating, with an event", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", {
      containers: [aContainer({ volumeMounts: [{ name: "settings", mountPath: "/settings" }] })],
      volumes: [{ name: "settings", configMap: { name: "settings" } }],
    });
    expect(await world.containerStatus("a")).toMatchObject({ state: { waiting: { reason: "ContainerCreating" } } });
    expect(await world.events("FailedMount")).toMatchObject([
      { message: expect.stringContaining('configmap "settings" not found') as string },
    ]);
  });

  test("a runtime that cannot make the container is asked again, more and more rarely", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("createContainer", { message: "no space left", times: 3 });
    await world.createPod("a");
    expect(await world.containerStatus("a")).toMatchObject({
      state: { waiting: { reason: "CreateContainerError", message: "no space left" } },
      restartCount: 0,
    });
    await world.step(1_000);
    await world.step(1_999);
    expect(world.runtime.starts).toHaveLength(0);
    await world.step(1);
    await world.step(4_000);
    expect(world.runtime.starts).toMatchObject([{ attempt: 0 }]);
    expect(await world.events("Failed")).toMatchObject([{ message: "Error: no space left", count: 3 }]);
  });

  test("a create whose answer was lost is not done twice", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("createContainer", { message: "the answer was lost", when: "after" });
    await world.createPod("a");
    await world.step(5_000);
    expect(world.runtime.starts).toHaveLength(1);
    expect(world.runtime.violations).toEqual([]);
    expect((await world.thePod("a")).status?.phase).toBe("Running");
  });

  test("a container that cannot be started counts as ended, and the next attempt has a number of its own", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("startContainer", { message: "exec: not found" });
    await world.createPod("a");
    await world.step(100);
    expect(world.runtime.starts).toMatchObject([{ attempt: 1 }]);
    expect(await world.containerStatus("a")).toMatchObject({
      restartCount: 1,
      state: { running: {} },
      lastState: { terminated: { exitCode: 128, reason: "StartError", message: "exec: not found" } },
    });
  });

  test("one that cannot be started at all waits as long as one that fails, and says why", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("startContainer", { message: "exec: not found", times: 100 });
    await world.createPod("a");
    expect(await world.containerStatus("a")).toMatchObject({
      restartCount: 1,
      state: { waiting: { reason: "RunContainerError", message: "exec: not found" } },
    });
    await world.step(10_000);
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 2 });
    expect(await world.events("Failed")).toMatchObject([{ message: "Error: exec: not found", count: 3 }]);
    expect(world.runtime.present()[0]?.containers).toHaveLength(1);
  });

  test("a machine without a free slot leaves the pod pending, with an event, until there is one", async () => {
    await using world = await NodeWorld.start();
    world.runtime.fail("ensurePod", { message: "all slots are taken", times: 2 });
    await world.createPod("a");
    expect((await world.thePod("a")).status).toMatchObject({
      phase: "Pending",
      containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }],
    });
    expect(await world.condition("a", "PodReadyToStartContainers")).toMatchObject({ status: "False" });
    expect(await world.events("FailedCreatePodSandBox")).toMatchObject([{ message: "Failed to create pod sandbox: all slots are taken" }]);
    await world.step(5_000);
    expect((await world.thePod("a")).status?.phase).toBe("Running");
  });

  test("what the node cannot do is refused with an event and a reason, and nothing is started", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { hostNetwork: true, volumes: [{ name: "data", hostPath: { path: "/" } }] });
    const { status } = await world.thePod("a");
    expect(status).toMatchObject({ phase: "Failed", reason: "Unsupported" });
    expect(status?.message).toContain("spec.hostNetwork; spec.volumes[0].hostPath");
    expect(await world.events("Unsupported")).toMatchObject([{ type: "Warning", count: 1 }]);
    expect(world.runtime.present()).toEqual([]);
    await world.deletePod("a");
    expect(await world.pod("a")).toBeUndefined();
  });

  test("conditions of others in the status are left alone, and gate readiness", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { readinessGates: [{ conditionType: "example.com/warm" }] });
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "False", reason: "ReadinessGatesNotReady" });
    const { status } = await world.thePod("a");
    const conditions = [
      ...(status?.conditions ?? []),
      { type: "example.com/warm", status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const body = { status: { conditions: conditions.map(({ lastTransitionTime = null, ...one }) => ({ ...one, lastTransitionTime })) } };
    await world.store.patch(Pods, { namespace: "default", name: "a" }, { type: "merge", body }, { subresource: "status" });
    await world.step(1_000);
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "True" });
    expect(await world.condition("a", "example.com/warm")).toMatchObject({ status: "True" });
  });
});
