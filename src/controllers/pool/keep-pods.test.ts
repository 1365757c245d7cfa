import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { closeToClaims } from "#life/claim/write-claim.ts";
import { conditionIn } from "#model/conditions.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { embeddedPoolScene } from "../../../test/world/embedded-pool-scene.ts";
import { claimBook } from "../../../test/world/claim-books.ts";

const minute = 60_000;
const nameOf = (pod: Pod | undefined): string => pod?.metadata.name ?? "";
const names = (pods: readonly Pod[]): string[] => pods.map(nameOf).sort();

describe("pods that never become ready", () => {
  test("pods that end before they were ready are replaced ever more slowly, until one has become ready", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 2 });
    await world.quiet();
    let ended = 0;
    for (let minutes = 0; minutes < 60; minutes++) {
      for (const pod of await scene.pods()) {
        await scene.nodeReports(pod, { phase: "Failed", conditions: [], reason: "StartError" });
        ended += 1;
      }
      await clock.step(minute);
    }
    // Of two pods, 5 s to 10 min apart: without the pauses it would be 120.
    expect(ended).toBeGreaterThan(8);
    expect(ended).toBeLessThan(50);
    await clock.step(10 * minute);
    await world.filled();
    const before = await scene.pods();
    expect(before).toHaveLength(2);
    await scene.scale(3);
    await world.quiet();
    const fresh = (await scene.pods()).find((pod) => !names(before).includes(pod.metadata.name ?? ""));
    await scene.nodeReports(fresh as Pod, { phase: "Failed", conditions: [] });
    await clock.step(5_000);
    await world.filled();
    expect(await scene.pods()).toHaveLength(3);
  });

  test("a pod that is not ready for ten minutes is given up, and a sandbox's pod is not", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    const [used, stuck] = await scene.pods();
    await scene.claim(used as Pod, "i1");
    for (const pod of [used, stuck]) await scene.nodeReports(pod as Pod, { conditions: [{ type: "Ready", status: "False" }] });
    await clock.step(9 * minute);
    expect(names(await scene.pods())).toEqual(names([used, stuck] as Pod[]));
    await clock.step(minute);
    await world.quiet();
    const left = names(await scene.pods());
    expect(left).toContain(used?.metadata.name);
    expect(left).not.toContain(stuck?.metadata.name);
  });

  test("pods whose node takes no tag beside a digest are replaced at once by pods without one, and the pool says so", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.quiet();
    const [stuck] = await scene.pods();
    const state = { waiting: { reason: "InvalidImageName", message: "invalid reference format" } };
    const containerStatuses = [{ name: "main", image: "", imageID: "", ready: false, restartCount: 0, state }];
    await scene.nodeReports(stuck as Pod, { phase: "Pending", conditions: [{ type: "Ready", status: "False" }], containerStatuses });
    await clock.step(minute);
    await world.quiet();
    const [fresh] = await scene.pods();
    expect(fresh?.metadata.name).not.toBe(stuck?.metadata.name);
    expect(fresh?.spec.containers[0]?.image).toMatch(/^registry\.invalid\/app@sha256:/);
    expect((await scene.pool()).status?.imageForm).toBe("Digest");
    expect((await scene.told()).join()).toContain("ImageFormRefused");
  });

  test("a pod that becomes ready while it is being given up stays", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.quiet();
    const [pod] = await scene.pods();
    scene.watched.before = async ({ verb, of }) => {
      if (verb === "delete" && of === "pods") await scene.nodeReports(pod as Pod);
    };
    await clock.step(11 * minute);
    expect(names(await scene.pods())).toEqual(names([pod as Pod]));
    expect((await scene.pool()).status?.phase).toBe("Ready");
  });

  test("I6: a pod that has become ready, unheard, is not given up again and again", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.quiet();
    const [pod] = await scene.pods();
    const heard = Promise.withResolvers<void>();
    scene.watched.late = { of: "pods", until: heard.promise };
    await scene.nodeReports(pod as Pod);
    await clock.step(10 * minute);
    scene.watched.take();
    await clock.step(10_000);
    const tries = scene.watched.take().filter((call) => call === "delete pods").length;
    expect(tries).toBeGreaterThan(0);
    expect(tries).toBeLessThanOrEqual(10);
    heard.resolve();
    await world.quiet();
    expect(names(await scene.pods())).toEqual(names([pod as Pod]));
  });

  test("a pool that is full again has no trouble any more, whatever made it so", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    let isRefusing = false;
    scene.watched.before = ({ verb, of }) => {
      if (isRefusing && verb === "create" && of === "pods") throw new ApiError("Forbidden", "quota");
    };
    await scene.createPool({ replicas: 1 });
    await world.filled();
    isRefusing = true;
    await scene.scale(2);
    await world.quiet();
    await clock.step(1_000);
    expect(conditionIn(await scene.pool(), "Degraded")?.reason).toBe("PodsRefused");
    await scene.scale(1);
    await world.quiet();
    await clock.step(1_000);
    expect(conditionIn(await scene.pool(), "Degraded")?.reason).toBe("AllPodsHealthy");
  });
});

describe("pods on their way out", () => {
  test("W10: a pod that takes its time to go is no replica, and is replaced at once", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.filled();
    const [pod] = await scene.pods();
    // A node that still holds it.
    await scene.changePod(pod as Pod, { finalizers: [finalizers.sandboxProtection, "node.invalid/busy"] });
    await scene.client.delete(Pods, scene.key(pod?.metadata.name ?? ""));
    await world.filled();
    await clock.step(1_000);
    expect(await scene.allPods()).toHaveLength(2);
    expect((await scene.pool()).status).toMatchObject({ replicas: 1, idleReplicas: 1, phase: "Ready" });
  });

  test("a pod that is claimed while it is being marked for scale-down is not marked", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.filled();
    const [pod] = await scene.pods();
    scene.watched.before = async ({ verb, of }) => {
      if (verb !== "patch" || of !== "pods") return;
      scene.watched.before = () => {};
      await scene.claim(pod as Pod, "i1");
    };
    await scene.scale(0);
    await world.quiet();
    await clock.step(minute);
    const [claimed] = await scene.pods();
    expect(claimed?.metadata.labels?.[labelKeys.sandboxId]).toBe("i1");
    expect(claimed?.metadata.annotations?.[annotationKeys.chosenToGo]).toBeUndefined();
  });

  test("a deleted pool stays until its last pod is gone", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    const [pod] = await scene.pods();
    await scene.changePod(pod as Pod, { finalizers: [finalizers.sandboxProtection, "node.invalid/busy"] });
    await scene.client.delete(SandboxPools, scene.key("py"));
    await world.quiet();
    await clock.step(1_000);
    expect((await scene.pool()).status).toMatchObject({ phase: "Terminating", replicas: 0 });
    expect(names(await scene.allPods())).toEqual(names([pod as Pod]));
    await scene.changePod(pod as Pod, { finalizers: null });
    await world.quiet();
    await expect(scene.pool()).rejects.toMatchObject({ reason: "NotFound" });
  });

  test("I6: however late the watch is, a deleted pool deletes each of its pods once, and goes after the last one", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 3 });
    await world.filled();
    const watch = Promise.withResolvers<void>();
    scene.watched.late = { of: "pods", until: watch.promise };
    scene.watched.take();
    await scene.client.delete(SandboxPools, scene.key("py"));
    for (let time = 0; time < 3; time++) {
      await scene.changePool({ metadata: { annotations: { time: String(time) } } });
      await world.quiet();
      await clock.step(1_000);
    }
    expect(scene.watched.take().filter((call) => call === "delete pods")).toHaveLength(3);
    watch.resolve();
    await world.quiet();
    await expect(scene.pool()).rejects.toMatchObject({ reason: "NotFound" });
  });

  test("a deleted pool leaves a pod alone that somebody else made under the name of one of its own", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.filled();
    const [pod] = await scene.pods();
    const key = scene.key(pod?.metadata.name ?? "");
    scene.watched.before = async ({ verb, of }) => {
      if (verb !== "delete" || of !== "pods") return;
      scene.watched.before = () => {};
      await scene.changePod(pod as Pod, { finalizers: null });
      await scene.client.delete(Pods, key, { gracePeriodSeconds: 0 });
      await scene.client.create(Pods, { metadata: key, spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } });
    };
    await scene.client.delete(SandboxPools, scene.key("py"));
    await world.quiet();
    await clock.step(1_000);
    const left = await scene.client.get(Pods, key);
    expect(left.metadata).toMatchObject({ name: key.name });
    expect([left.metadata.uid === pod?.metadata.uid, left.metadata.deletionTimestamp]).toEqual([false, undefined]);
  });

  test("W8: deletes that fail leave nothing to wait for", async () => {
    await using world = await embeddedPoolScene({ protectionWindowMs: () => 0 });
    const { scene, clock } = world;
    await scene.createPool({ replicas: 3 });
    await world.filled();
    let failures = 2;
    scene.watched.before = ({ verb, of }) => {
      if (verb === "delete" && of === "pods" && failures-- > 0) throw new ApiError("InternalError", "the store is full");
    };
    await scene.scale(0);
    await world.quiet();
    await clock.step(5_000);
    expect(await scene.allPods()).toEqual([]);
  });

  test.each([
    ["pods", false],
    ["Leases", true],
  ])("I6: however late the watch is, nothing is made or deleted twice, with claims on %s", async (_, claimsOnLeases) => {
    await using world = await embeddedPoolScene({ protectionWindowMs: () => 0 }, { claimsOnLeases });
    const { scene, clock } = world;
    await scene.createPool({ replicas: 4 });
    await world.filled();
    const watch = Promise.withResolvers<void>();
    scene.watched.late = { of: "pods", until: watch.promise };
    scene.watched.take();
    const poke = async (): Promise<void> => {
      for (let time = 0; time < 5; time++) {
        await scene.changePool({ metadata: { annotations: { time: String(time) } } });
        await world.quiet();
        await clock.step(1_000);
      }
    };
    await scene.scale(2);
    await poke();
    await scene.scale(6);
    await poke();
    const calls = scene.watched.take();
    watch.resolve();
    await world.filled();
    expect(calls.filter((call) => call.endsWith(" pods"))).toEqual(["delete pods", "delete pods"]);
    expect(await scene.pods()).toHaveLength(6);
    expect(scene.watched.take().filter((call) => call === "create pods")).toHaveLength(4);
  });
});

describe("pods that are not as the pool made them", () => {
  test("a pod without a phase is replaced; one with a sandbox or of somebody else is left", async () => {
    await using world = await embeddedPoolScene();
    const { scene } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    const [plain, sandbox] = await scene.pods();
    await scene.changePod(sandbox as Pod, { labels: { [labelKeys.sandboxPhase]: null, [labelKeys.sandboxId]: "i1" } });
    await scene.changePod(plain as Pod, { labels: { [labelKeys.sandboxPhase]: null } });
    const foreign = { metadata: { ...scene.key("foreign"), labels: { [labelKeys.sandboxPool]: "py" } }, spec: (plain as Pod).spec };
    await scene.client.create(Pods, foreign);
    await world.filled();
    const left = names(await scene.pods());
    expect(left).toContain("foreign");
    expect(left).toContain(sandbox?.metadata.name);
    expect(left).not.toContain(plain?.metadata.name);
  });

  test("an idle pod that somebody closed to claims and did not delete is deleted, once, and replaced", async () => {
    await using world = await embeddedPoolScene({}, { claimsOnLeases: true });
    const { scene } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    const [closed, other] = await scene.pods();
    scene.watched.take();
    const { client, clock } = scene;
    expect(
      await closeToClaims(
        { client, clock, cache: new SandboxCache({ client, clock, log: scene.logged.log }, { claims: claimBook(true) }) },
        closed as Pod,
      ),
    ).toBe(true);
    await world.filled();
    const calls = scene.watched.take().filter((call) => call.endsWith(" leases") || call === "delete pods");
    expect(calls).toEqual(["delete pods"]);
    const left = names(await scene.pods());
    expect([left.length, left.includes(nameOf(other)), left.includes(nameOf(closed))]).toEqual([2, true, false]);
  });

  test("W2: a pod that changes after it was closed to claims goes all the same", async () => {
    await using world = await embeddedPoolScene({ protectionWindowMs: () => 0 }, { claimsOnLeases: true });
    const { scene } = world;
    await scene.createPool({ replicas: 1 });
    await world.filled();
    const [pod] = await scene.pods();
    let isFirst = true;
    scene.watched.before = async ({ verb, of }) => {
      if (verb === "delete" && of === "pods" && isFirst) await scene.nodeReports(pod as Pod, { message: "hello" });
      if (verb === "delete" && of === "pods") isFirst = false;
    };
    await scene.scale(0);
    await world.quiet();
    expect(await scene.allPods()).toEqual([]);
    expect(scene.watched.take().filter((call) => call === "delete pods")).toHaveLength(2);
  });

  test("a template's labels and annotations come to its pools, and its version", async () => {
    await using world = await embeddedPoolScene();
    const { scene } = world;
    const spec = { version: "v1.0.0", template: { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } } };
    const metadata = { name: "base", labels: { tier: "gold", [labelKeys.team]: "red" }, annotations: { note: "hello" } };
    await scene.client.create(SandboxTemplates, { metadata, spec });
    await scene.client.create(SandboxPools, {
      metadata: { ...scene.key("py"), labels: { [labelKeys.team]: "blue" } },
      spec: { replicas: 0, templateName: "base" },
    });
    await world.quiet();
    expect((await scene.pool()).metadata).toMatchObject({
      labels: { tier: "gold", [labelKeys.team]: "blue" },
      annotations: { note: "hello", [annotationKeys.templateName]: "base", [annotationKeys.templateVersion]: "v1.0.0" },
    });
    const body = { metadata: { labels: { tier: "silver" } }, spec: { version: "v1.0.1", description: "new" } };
    await scene.client.patch(SandboxTemplates, { name: "base" }, { type: "merge", body });
    await world.quiet();
    const { labels, annotations } = (await scene.pool()).metadata;
    expect([labels?.["tier"], annotations?.[annotationKeys.templateVersion]]).toEqual(["silver", "v1.0.1"]);
  });
});
