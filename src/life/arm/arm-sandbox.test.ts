import { expect, test } from "vitest";
import type { ObjectClient, WatchOptions } from "#kube/object-client.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { closedEgress, egressWish } from "#model/egress-policy.ts";
import { volumeWish } from "#model/volume-mounts.ts";
import { annotationKeys, podConditionReasons, podConditions } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { addressOf, ann, type ClaimScene } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { refusal } from "../../../test/world/refusal.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

const idleImagePool = { podCreationImagePolicy: "IdleImage", idleImage: "registry.invalid/idle:1" } as const;
const twoContainers = {
  template: {
    spec: {
      containers: [
        { name: "main", image: "registry.invalid/app:1" },
        { name: "side", image: "registry.invalid/side:1" },
      ],
    },
  },
};

test("where only another container is exchanged, the daemon's own container is armed when the node has reported it", async () => {
  await using world = await embeddedClaimScene({ pool: twoContainers });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const before = scene.daemons.at(addressOf(1));
  const creating = process.create({ containerImages: { side: "registry.invalid/idle:1" } });
  await clock.step(1_000);
  expect(before?.armed, "nobody may use a sandbox of which a part is missing").toBeUndefined();
  await scene.nodeReports();
  await clock.step(1_000);
  const { sandbox } = await creating;
  expect(before?.armed?.sandboxId).toBe(sandbox.sandboxId);
});

test("where all containers are exchanged, the first one's new boot is not enough", async () => {
  await using world = await embeddedClaimScene({ pool: twoContainers });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const creating = process.create({ containerImages: { main: "registry.invalid/idle:1", side: "registry.invalid/idle:1" } });
  await clock.step(100);
  await scene.nodeStarts();
  await clock.step(2_000);
  expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
  await scene.nodeReports();
  await clock.step(1_000);
  expect((await creating).sandbox.status).toBe("Running");
});

test("a sandbox that is ended while it starts is not armed any more, and its creator is told", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const creating = refusal(process.create());
  await clock.step(50);
  const [starting] = process.cache.listSandboxes().toArray();
  await process.claims.end(ann, starting?.metadata.labels?.["agentbox.navix.sh/sandbox-id"] ?? "");
  await clock.step(500);
  expect(await creating).toMatchObject({ code: "start_failed", message: expect.stringContaining("ended before it was ready") });
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});

test("another pod that has the address by now is never armed", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const stranger = scene.daemons.boot(addressOf(1), "uid-of-another-pod");
  const creating = refusal(process.create({ startupTimeoutMs: 2_000 }));
  await clock.step(2_000);
  expect(await creating).toMatchObject({ code: "timeout" });
  expect(stranger.armed).toBeUndefined();
});

test("an order whose answer was lost is sent again, and counts once", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const { daemons } = scene;
  const init = daemons.init.bind(daemons);
  let lost = 0;
  daemons.init = async (at, order, options) => {
    await init(at, order, options);
    if (lost++ === 0) daemons.fail("health", "unreachable");
    if (lost === 1) await daemons.health(at);
  };
  const creating = process.create();
  await clock.step(200);
  expect((await creating).sandbox.status).toBe("Running");
  expect(lost).toBe(2);
});

test("hooks run once the sandbox is armed, and a hook that fails gives the pod back without its output", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const sent: string[] = [];
  const send = async ({ ip, port }: { ip: string; port: number }) => {
    sent.push(`${ip}:${port} ${scene.daemons.at(ip)?.armed === undefined ? "not armed" : "armed"}`);
    return { status: 500, headers: {}, text: "password is hunter2" };
  };
  const process = await scene.process({ http: { send } });
  await settle();
  const creating = refusal(process.create({ postStartHooks: [{ http: { port: 8080 } }] }));
  await clock.step(30_000);
  expect(await creating).toMatchObject({ code: "hook_failed", message: expect.stringContaining("hunter2") });
  expect(new Set(sent)).toEqual(new Set([`${addressOf(1)}:8080 armed`]));
  await settle();
  const pod = await scene.pod();
  expect(sandboxPhaseOf(pod)).toBe("stopping");
  expect(pod.metadata.annotations).toMatchObject({
    "agentbox.navix.sh/failure-reason": "HookFailed",
    "agentbox.navix.sh/failure-message": "post-start hook 1 failed 5 times",
  });
  expect(JSON.stringify([pod, process.logged.lines])).not.toContain("hunter2");
});

test("a daemon that was armed for a sandbox which had ended before: its pod goes back, and the create has another", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "taken");
  const { sandbox } = await process.create({ idempotencyKey: "k" });
  await settle();
  const pods = await scene.pods();
  expect(new Set(pods.map((pod) => sandboxPhaseOf(pod)))).toEqual(new Set(["running", "stopping"]));
  const ids = pods.map((pod) => sandboxIdOf(pod));
  expect(ids, "the one that was given back has an end of its own").toContain(sandbox.sandboxId);
  expect(new Set(ids).size).toBe(2);
  expect((await process.create({ idempotencyKey: "k" })).sandbox.sandboxId).toBe(sandbox.sandboxId);
});

test("I9: a create that meets nothing but taken daemons ends by its deadline", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "taken");
  const failed = refusal(process.create({ startupTimeoutMs: 2_000 }));
  await clock.step(2_000);
  expect(await failed).toMatchObject({ code: "no_capacity" });
});

test("a daemon that refuses fails the create and the pod goes back", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "refused");
  expect(await refusal(process.create())).toMatchObject({ code: "start_failed" });
  await settle();
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});

test("a daemon that does not take what we sign is found out about, and not asked for ever", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "other-boot");
  const failed = refusal(process.create());
  await clock.step(100);
  expect((await failed).message).toContain("does not take orders that this control plane signs");
});

test("a container that was started anew before it was armed is no sandbox; who finds two of them is told so, and spoils no third", async () => {
  await using world = await embeddedClaimScene({ pods: 3 });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  for (const number of [1, 2, 3]) await scene.nodeStarts(number);
  const failed = refusal(process.create());
  await clock.step(100);
  expect((await failed).message).toContain("started anew");
  expect(sandboxPhaseOf(await scene.pod(1))).toBe("idle");
});

test("who gets a pod whose container was started anew in that moment gets another one", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  await scene.nodeStarts(2);
  const creating = process.create();
  await clock.step(100);
  expect((await creating).sandbox.podName).toBe("py-1");
  await settle();
  expect((await scene.pod(2)).metadata.annotations).toMatchObject({ [annotationKeys.stopReason]: "Canceled" });
});

test("who gets a pod whose daemon does not answer gets another one, and the silent one goes back", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  const process = await scene.process();
  // The one that became idle last is given out first.
  scene.daemons.down(addressOf(2));
  const creating = process.create();
  await clock.step(12_000);
  expect((await creating).sandbox.podName).toBe("py-1");
  await settle();
  expect((await scene.pod(2)).metadata.annotations).toMatchObject({ [annotationKeys.stopReason]: "Canceled" });
});

test("who finds two silent pods in a row is told so, and spoils no third", async () => {
  await using world = await embeddedClaimScene({ pods: 3 });
  const { scene, clock } = world;
  const process = await scene.process();
  for (const number of [1, 2, 3]) scene.daemons.down(addressOf(number));
  const creating = refusal(process.create());
  await clock.step(25_000);
  expect(await creating).toMatchObject({ code: "start_failed", message: expect.stringMatching(/no daemon answers/) });
  expect((await scene.pods()).filter((pod) => sandboxPhaseOf(pod) === "idle")).toHaveLength(1);
});

test("a daemon that is silent for a moment is armed when it answers", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "unreachable", "unreachable");
  const creating = process.create();
  await clock.step(200);
  expect((await creating).sandbox.status).toBe("Running");
});

test("an image that cannot run fails the create with what the node says", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const failed = refusal(process.create());
  await clock.step(50);
  const [status] = (await scene.pod()).status?.containerStatuses ?? [];
  if (status === undefined) throw new Error("no container is reported");
  const waiting = { reason: "CreateContainerError", message: "no such file: /bin/agent" };
  await scene.nodeReports(1, { containerStatuses: [{ ...status, state: { waiting } }] });
  await clock.step(1_000);
  expect(await failed).toMatchObject({ code: "start_failed", message: expect.stringContaining("no such file: /bin/agent") });
});

test.each([
  ["whose daemon waits", {}, () => {}],
  [
    "whose container is exchanged",
    { containerImages: { main: "registry.invalid/idle:1" } },
    async (scene: ClaimScene) => {
      await scene.nodeStarts();
      await scene.nodeReports();
    },
  ],
])(
  "a sandbox %s is not armed before its egress policy is in force: its first program could connect to anywhere",
  async (_, more, exchange) => {
    await using world = await embeddedClaimScene();
    const { scene, clock } = world;
    const process = await scene.process();
    await settle();
    const creating = process.create({ ...more, egress: closedEgress });
    await clock.step(100);
    await exchange(scene);
    await clock.step(2_000);
    expect(
      scene.daemons.calls.filter((call) => call.startsWith("init")),
      "nothing may run yet",
    ).toEqual([]);
    const wish = egressWish(await scene.pod()) ?? "";
    const inForce = { type: podConditions.egressPolicy, status: "True", message: wish } as const;
    await scene.nodeReports(1, {
      conditions: [
        { type: "Ready", status: "True" },
        { ...inForce, message: "of another wish" },
      ],
    });
    await clock.step(2_000);
    expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
    await scene.nodeReports(1, { conditions: [{ type: "Ready", status: "True" }, inForce] });
    await clock.step(2_000);
    const { sandbox } = await creating;
    expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(sandbox.sandboxId);
  },
);

const withData = { volumeMounts: [{ name: "data", path: "/mnt/data" }] };

test("a sandbox is not armed before its volumes are mounted: its first program would write beside them", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const creating = process.create(withData);
  await clock.step(2_000);
  expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
  const message = volumeWish(await scene.pod()) ?? "";
  const mounted = { type: podConditions.volumeMounts, status: "True", reason: "Mounted", message } as const;
  await scene.nodeReports(1, { conditions: [{ type: "Ready", status: "True" }, mounted] });
  await clock.step(2_000);
  const { sandbox } = await creating;
  expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(sandbox.sandboxId);
  expect(sandbox.volumeMounts).toEqual([{ name: "data", path: "/mnt/data", readOnly: false }]);
});

test("a volume that cannot be mounted fails the create at once, with what the node says", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const failed = refusal(process.create(withData));
  await clock.step(100);
  const message = `${volumeWish(await scene.pod()) ?? ""}: /mnt is a symbolic link`;
  const refused = { type: podConditions.volumeMounts, status: "False", reason: podConditionReasons.mountFailed, message } as const;
  await scene.nodeReports(1, { conditions: [{ type: "Ready", status: "True" }, refused] });
  await clock.step(2_000);
  expect(await failed).toMatchObject({ code: "start_failed", message: expect.stringContaining("/mnt is a symbolic link") });
  expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
});

/** With a watch of pods that tells nothing until it is given up. */
function deafToPods(client: ObjectClient): ObjectClient {
  const silence = ({ signal }: WatchOptions): AsyncIterable<never> => {
    const over = new Promise<IteratorResult<never>>((resolve) => {
      signal?.addEventListener("abort", () => resolve({ done: true, value: undefined }), { once: true });
    });
    return { [Symbol.asyncIterator]: () => ({ next: () => over }) };
  };
  return new Proxy(client, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const method = member.bind(target) as (...args: readonly unknown[]) => unknown;
      if (name !== "watch") return method;
      return (type: unknown, options: WatchOptions) => (type === Pods ? silence(options) : method(type, options));
    },
  });
}

test("a pod that had gone before it was claimed, of which its claimer had not heard, costs no time: another one is taken", async () => {
  await using world = await embeddedClaimScene({ pods: 2, claimsOnLeases: true });
  const { scene, clock } = world;
  const process = await scene.process({ client: deafToPods(scene.client) });
  await settle();
  // The one that became idle last is given out first.
  const key = { namespace: "ns", name: "py-2" };
  await scene.client.patch(Pods, key, { type: "merge", body: { metadata: { finalizers: null } } });
  await scene.client.delete(Pods, key, { gracePeriodSeconds: 0 });
  scene.daemons.down(addressOf(2));
  const creating = process.create();
  await clock.step(1);
  expect(scene.daemons.calls.filter((call) => call.startsWith("init"))).toEqual([`init ${addressOf(2)}`, `init ${addressOf(1)}`]);
  const { sandbox } = await creating;
  expect([sandbox.podName, sandbox.status]).toEqual(["py-1", "Running"]);
});
