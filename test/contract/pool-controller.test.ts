import { afterEach, expect, test } from "vitest";
import { endSandbox } from "#life/end/write-end.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { conditionIn } from "#model/conditions.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools, type SandboxPoolStatus } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { digestOf } from "../world/pool-pods.ts";
import { PoolScene } from "../world/pool-scene.ts";
import { SteppedClock } from "../world/stepped-clock.ts";
import type { Call } from "../world/watched-client.ts";
import { gone, refusal, until } from "./helpers.ts";
import { aTemplate } from "./own-kinds.ts";
import { describeClaims } from "./servers.ts";

const idle = { [labelKeys.sandboxPhase]: "idle" };
const windowMs = 10_000;
const { signal } = new AbortController();
const nameOf = (pod: Pod | undefined): string => pod?.metadata.name ?? "";
const names = (pods: readonly Pod[]): string[] => pods.map(nameOf).sort();

const isMarked = ({ metadata }: Pod): boolean => metadata.annotations?.[annotationKeys.chosenToGo] !== undefined;

describeClaims("the pool controller", (server) => {
  let stop = async (): Promise<void> => {};
  afterEach(() => stop());

  interface Started {
    readonly scene: PoolScene;
    readonly clock: SteppedClock;
    /** Resolves with the pool when its status has all of this. */
    readonly reports: (status: SandboxPoolStatus) => Promise<SandboxPool>;
    /** Resolves with the pods of the pool when all of them are ready; the test is their node. */
    readonly filled: (replicas: number) => Promise<readonly Pod[]>;
  }

  /** The controllers' time stands still unless a test steps it; servers have their own. */
  async function started(): Promise<Started> {
    const clock = new SteppedClock(Date.now());
    const pools = { protectionWindowMs: () => windowMs, pace: { statusEveryMs: 0 } };
    const { client, claimsOnLeases } = server();
    const scene = await PoolScene.open({ client, clock, namespace: await server().namespace(), pools, claimsOnLeases });
    stop = () => scene[Symbol.asyncDispose]();
    const reports = async (status: SandboxPoolStatus): Promise<SandboxPool> => {
      const isSo = (pool: SandboxPool | undefined) =>
        Object.entries(status).every(([field, value]) => pool?.status?.[field as keyof SandboxPoolStatus] === value);
      return (await until(scene.client, SandboxPools, scene.key("py"), isSo)) as SandboxPool;
    };
    const filled = async (replicas: number): Promise<readonly Pod[]> => {
      await reports({ replicas });
      for (const pod of await scene.pods()) await scene.nodeReports(pod);
      await reports({ replicas, idleReplicas: replicas, unavailableIdleReplicas: 0, phase: "Ready" });
      return scene.pods();
    };
    return { scene, clock, reports, filled };
  }

  const marked = (scene: PoolScene, pod: Pod | undefined) =>
    until(scene.client, Pods, scene.key(nameOf(pod)), (now) => now !== undefined && isMarked(now));

  test("a pool gets as many idle pods as it wants, pinned to a digest and protected", async () => {
    const { scene, reports } = await started();
    await scene.createPool({ replicas: 3 });
    const pool = await reports({ replicas: 3 });
    expect(pool.metadata.finalizers).toEqual([finalizers.pool]);
    const pods = await scene.pods();
    expect(pods).toHaveLength(3);
    for (const pod of pods) {
      expect(pod.metadata.labels).toMatchObject({ [labelKeys.sandboxPool]: "py", ...idle });
      expect(pod.metadata.finalizers).toEqual([finalizers.sandboxProtection]);
      expect(pod.metadata.ownerReferences?.[0]).toMatchObject({
        kind: "SandboxPool",
        name: "py",
        uid: pool.metadata.uid,
        controller: true,
      });
      expect(pod.spec.containers[0]?.image).toContain(`@${digestOf("registry.invalid/app:1")}`);
      expect(pod.metadata.annotations?.[annotationKeys.useCount]).toBe("0");
    }
  });

  test("a pool that is scaled follows, up and down", async () => {
    const { scene, clock, reports, filled } = await started();
    const scale = (replicas: number) =>
      scene.client.patchScale(SandboxPools, scene.key("py"), { type: "merge", body: { spec: { replicas } } });
    await scene.createPool({ replicas: 1 });
    await reports({ replicas: 1 });
    await scale(4);
    const pods = await filled(4);
    await scale(2);
    await reports({ phase: "ScalingDown" });
    await expect.poll(() => scene.pods().then((now) => now.filter(isMarked).length)).toBe(2);
    expect(names(await scene.pods())).toEqual(names(pods));
    await clock.step(windowMs);
    await reports({ replicas: 2, phase: "Ready" });
    expect(await scene.pods()).toHaveLength(2);
  });

  test("I4: scaling down takes idle pods only", async () => {
    const { scene, clock, reports, filled } = await started();
    await scene.createPool({ replicas: 2 });
    const [used, other] = await filled(2);
    await scene.claim(used as Pod, "i1");
    await scene.scale(0);
    await marked(scene, other);
    await clock.step(windowMs);
    await reports({ replicas: 1, runningReplicas: 1 });
    expect(names(await scene.pods())).toEqual(names([used as Pod]));
  });

  test("W2 W16: a pod that was chosen to go may still be claimed, and stays then", async () => {
    const { scene, clock, reports, filled } = await started();
    await scene.createPool({ replicas: 1 });
    const [pod] = await filled(1);
    await scene.scale(0);
    const chosen = await marked(scene, pod);
    expect(chosen?.metadata.deletionTimestamp).toBeUndefined();
    const claimed = await scene.claim(chosen as Pod, "i1");
    expect(isMarked(claimed)).toBe(false);
    await reports({ runningReplicas: 1 });
    await clock.step(2 * windowMs);
    expect(scene.watched.calls.filter(({ verb }) => verb === "delete")).toEqual([]);
    expect(names(await scene.pods())).toEqual(names([pod as Pod]));
  });

  test("W2 I4: of a claim and a delete that meet one wins, and the other one writes nothing", async () => {
    const { scene, clock, reports, filled } = await started();
    await scene.createPool({ replicas: 6 });
    const pods = await filled(6);
    await scene.scale(0);
    const seen = new Map(await Promise.all(pods.map(async (pod) => [nameOf(pod), (await marked(scene, pod)) as Pod] as const)));
    const all = [...seen.keys()].sort();
    const [early, late] = [all.slice(0, 3), all.slice(3)];
    const claim = (name = ""): Promise<Pod> => scene.claim(seen.get(name) as Pod, `i-${name}`);
    // Where claims stand on Leases a pod is closed to them there before it is deleted.
    const decides = server().claimsOnLeases ? ["create leases", "update leases"] : ["delete pods"];
    const isDecisive = ({ verb, of }: Call): boolean => decides.includes(`${verb} ${of}`);
    const refused: string[] = [];
    scene.watched.before = async (call) => {
      if (isDecisive(call) && early.includes(call.name ?? "")) await claim(call.name);
    };
    scene.watched.after = async (call) => {
      if (isDecisive(call) && late.includes(call.name ?? "")) refused.push((await refusal(claim(call.name))).reason);
    };
    await clock.step(windowMs);
    await reports({ replicas: 3, runningReplicas: 3 });
    const left = await scene.pods();
    expect(names(left)).toEqual(early);
    expect(new Set(left.map(sandboxIdOf))).toEqual(new Set(early.map((name) => `i-${name}`)));
    expect(refused).toHaveLength(3);
  });

  test("a pool without its template says so, and is filled when there is one", async () => {
    const { scene, reports } = await started();
    const template = `late-${scene.namespace}`;
    const { client } = scene;
    await client.create(SandboxPools, { metadata: scene.key("py"), spec: { templateName: template, replicas: 1 } });
    const isMissing = (pool: SandboxPool | undefined) => pool !== undefined && conditionIn(pool, "Degraded")?.reason === "TemplateMissing";
    await until(client, SandboxPools, scene.key("py"), isMissing);
    await client.create(SandboxTemplates, aTemplate(template, { version: "v1.0.0" }));
    const pool = await reports({ replicas: 1 });
    expect(pool.metadata.annotations).toMatchObject({
      [annotationKeys.templateName]: template,
      [annotationKeys.templateVersion]: "v1.0.0",
    });
    await client.delete(SandboxTemplates, { name: template });
  });

  test("a pod that lost its protection gets it back", async () => {
    const { scene, reports } = await started();
    await scene.createPool({ replicas: 1 });
    await reports({ replicas: 1 });
    const [pod] = await scene.pods();
    await scene.changePod(pod as Pod, { finalizers: null });
    const now = await until(scene.client, Pods, scene.key(nameOf(pod)), (one) => one?.metadata.finalizers?.length === 1);
    expect(now?.metadata.finalizers).toEqual([finalizers.sandboxProtection]);
  });

  test("idle pods of an earlier template are replaced, claimed ones are not", async () => {
    const { scene, reports, filled } = await started();
    await scene.createPool({ replicas: 2 });
    const [used, other] = await filled(2);
    await scene.claim(used as Pod, "i1");
    await reports({ runningReplicas: 1, outdatedIdleReplicas: 0 });
    const container = { name: "main", image: "registry.invalid/app:1", env: [{ name: "NEW", value: "1" }] };
    await scene.changePool({ spec: { template: { spec: { containers: [container] } } } });
    // The changed template is tried on one more pod, and nothing goes before that is ready.
    await reports({ replicas: 3, unavailableIdleReplicas: 1, outdatedIdleReplicas: 1 });
    const tried = (await scene.pods()).find((pod) => ![nameOf(used), nameOf(other)].includes(nameOf(pod)));
    await scene.nodeReports(tried as Pod);
    await gone(scene.client, Pods, scene.key(nameOf(other)));
    await expect.poll(() => scene.pods()).toHaveLength(2);
    const pods = await scene.pods();
    expect(names(pods)).toContain(nameOf(used));
    expect(pods.find((pod) => nameOf(pod) !== nameOf(used))?.spec.containers[0]?.env).toContainEqual({ name: "NEW", value: "1" });
  });

  test("W10: a pod that somebody deletes is replaced at once, also while it takes its time to go", async () => {
    const { scene, reports, filled } = await started();
    await scene.createPool({ replicas: 1 });
    const [pod] = await filled(1);
    await scene.changePod(pod as Pod, { finalizers: [finalizers.sandboxProtection, "node.invalid/busy"] });
    await scene.client.delete(Pods, scene.key(nameOf(pod)));
    await reports({ replicas: 1, unavailableIdleReplicas: 1 });
    expect(await scene.allPods()).toHaveLength(2);
    await until(scene.client, Pods, scene.key(nameOf(pod)), (one) => one?.metadata.finalizers?.length === 1);
    await scene.changePod(pod as Pod, { finalizers: null });
    await gone(scene.client, Pods, scene.key(nameOf(pod)));
  });

  test("a sandbox that ends gives its pod back to the pool, and leaves its record", async () => {
    const { scene, clock, reports, filled } = await started();
    await scene.createPool({ replicas: 1 });
    const [pod] = await filled(1);
    const claimed = await scene.claim(pod as Pod, "i1");
    await reports({ runningReplicas: 1, idleReplicas: 0 });
    const { client, cache } = scene;
    const digests = { resolve: async (image: string) => ({ digest: digestOf(image) }) };
    const deps = { client, cache, clock, digests, log: scene.logged.log, publicKey: scene.publicKey, maxUses: 10 };
    expect(await endSandbox(deps, claimed, { sandboxId: "i1" }, signal)).toMatchObject({ kind: "ended" });
    await scene.nodeReports(pod as Pod);
    await reports({ runningReplicas: 0, stoppingReplicas: 0, idleReplicas: 1, unavailableIdleReplicas: 0 });
    const [again] = await scene.pods();
    expect([again?.metadata.uid, again?.metadata.annotations?.[annotationKeys.useCount]]).toEqual([pod?.metadata.uid, "1"]);
    expect(await scene.history.get("i1", { kind: "admin" })).toMatchObject({ status: "Completed", poolName: "py" });
  });

  test("W9: a deleted pool takes its pods along, each sandbox leaves its record, and the pool is gone after them", async () => {
    const { scene, filled } = await started();
    await scene.createPool({ replicas: 3 });
    const [first, second] = await filled(3);
    await scene.claim(first as Pod, "i1");
    await scene.claim(second as Pod, "i2", { images: { main: { image: "registry.invalid/other:1", digest: digestOf("other") } } });
    await scene.client.delete(SandboxPools, scene.key("py"));
    await gone(scene.client, SandboxPools, scene.key("py"));
    expect(await scene.allPods()).toEqual([]);
    for (const id of ["i1", "i2"]) {
      const record = await scene.history.get(id, { kind: "admin" });
      expect(record).toMatchObject({ status: "Failed", failureReason: "PodDeleted", team: "red", user: "ann", poolName: "py" });
    }
  });
});
