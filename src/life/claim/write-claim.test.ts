import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isClaimElsewhere, storedPod } from "#model/shown-pod.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { Leases, Namespaces } from "#model/core-kinds.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type Claim, type ClaimPlan, planClaim } from "./plan-claim.ts";
import { embeddedPodScene } from "../../../test/world/embedded-scenes.ts";
import { image, type PodScene } from "../../../test/world/pod-scene.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { WatchedClient } from "../../../test/world/watched-client.ts";
import { bringToPod, closeToClaims, writeClaim } from "./write-claim.ts";
import { asClaimsOnLeases, claimBook } from "../../../test/world/claim-books.ts";

const leaving = annotationKeys.leaving;
const onLeases = { claimsOnLeases: true };
const waiting = { main: image("idle") };
const other = { main: image("app") };

/** A process of its own: it is told nothing that it does not ask for. */
class Somebody {
  readonly watched: WatchedClient;
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly clock: PodScene["clock"];

  constructor({ client, clock, namespace }: PodScene, { claimsOnLeases } = onLeases) {
    this.watched = new WatchedClient(client);
    this.client = this.watched.client;
    this.clock = clock;
    this.cache = new SandboxCache({ client: this.client, clock, log: recordedLog().log }, { namespace, claims: claimBook(claimsOnLeases) });
  }

  plan(pod: Pod, sandboxId: string, more: Partial<Claim> = {}): ClaimPlan & { readonly kind: "patch" } {
    const plan = planClaim(pod, { sandboxId, team: "red", user: "ann", images: waiting, ...more }, this.clock.now());
    if (plan.kind === "refused") throw new Error(plan.message);
    return plan;
  }

  async claim(pod: Pod, sandboxId: string, more: Partial<Claim> = {}): Promise<Pod> {
    return writeClaim(this, pod, this.plan(pod, sandboxId, more));
  }

  close(pod: Pod): Promise<boolean> {
    return closeToClaims(this, pod);
  }
}

async function isLost(work: Promise<unknown>): Promise<boolean> {
  return work.then(() => false, isLostRace);
}

/** The sandbox that has the pod ends, and the pod is idle again in its next use. */
async function recycled(scene: PodScene, sandboxId: string): Promise<Pod> {
  await scene.pod();
  await scene.release({ sandboxId });
  await scene.nodeReports();
  scene.answer = {};
  await scene.reconcile();
  const pod = await scene.pod();
  expect(sandboxPhaseOf(pod)).toBe("idle");
  return pod;
}

describe("a claim", () => {
  test("is one write of the pod's Lease, whether there was one before or not; the pod is not written", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const idle = await scene.pod();
    const claimed = await ann.claim(idle, "i1");
    expect(ann.watched.take()).toEqual(["create leases"]);
    expect([sandboxIdOf(claimed), sandboxPhaseOf(claimed), isClaimElsewhere(claimed)]).toEqual(["i1", "running", true]);
    expect(storedPod(claimed)).toEqual(await scene.client.get(Pods, scene.key));
    const again = await recycled(scene, "i1");
    await ann.claim(again, "i2");
    expect(ann.watched.take()).toEqual(["update leases"]);
    expect(sandboxIdOf(await scene.pod())).toBe("i2");
    const lease = await scene.client.get(Leases, scene.key);
    expect([lease.spec?.holderIdentity, lease.metadata.ownerReferences?.[0]?.uid]).toEqual(["i2", idle.metadata.uid]);
  });

  test("I1: of many of one use exactly one wins, and the others learn that they lost a race and who has it", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    let idle = await scene.pod();
    for (const use of ["0", "1"]) {
      const all = Array.from({ length: 6 }, () => new Somebody(scene));
      for (const { cache } of all) cache.pods.remember(idle);
      const outcomes = await Promise.allSettled(all.map((one, index) => one.claim(idle, `i${use}-${index}`)));
      const winners = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [sandboxIdOf(outcome.value)] : []));
      expect(winners).toEqual([sandboxIdOf(await scene.pod())]);
      expect(outcomes.filter((outcome) => outcome.status === "rejected" && isLostRace(outcome.reason))).toHaveLength(5);
      for (const { cache } of all) expect(cache.podsOfSandbox(winners[0] ?? "").toArray()).toHaveLength(1);
      idle = await recycled(scene, winners[0] ?? "");
    }
  });

  test.each([
    ["has not heard of the Lease at all", "nothing"],
    ["knows the Lease of an earlier use", "late"],
  ])("of somebody who %s is made all the same", async (_, knows) => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    await ann.claim(await scene.pod(), "i1");
    if (knows === "late") await asClaimsOnLeases(bob.cache.claims).readLease(scene.client, scene.key);
    await ann.claim(await recycled(scene, "i1"), "i2");
    const claimed = await bob.claim(await recycled(scene, "i2"), "i3");
    expect(bob.watched.take()).toEqual([knows === "late" ? "update leases" : "create leases", "get leases", "update leases"]);
    expect([sandboxIdOf(claimed), sandboxIdOf(await scene.pod())]).toEqual(["i3", "i3"]);
  });

  test("that was sent twice finds itself", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    // A connection that breaks after the server had the request, and a client that sends it again.
    const twice = Object.create(ann.client, {
      create: {
        value: async (...args: Parameters<ObjectClient["create"]>) => (await ann.client.create(...args), ann.client.create(...args)),
      },
    }) as ObjectClient;
    const idle = await scene.pod();
    const claimed = await writeClaim({ client: twice, cache: ann.cache }, idle, ann.plan(idle, "i1"));
    expect(ann.watched.take()).toEqual(["create leases", "create leases", "get leases"]);
    expect([sandboxIdOf(claimed), sandboxIdOf(await scene.pod())]).toEqual(["i1", "i1"]);
  });

  test("I1: of a pod that has been used since loses, and takes nothing from who has it now", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob, eve] = [new Somebody(scene), new Somebody(scene), new Somebody(scene)];
    const longAgo = await scene.pod();
    await ann.claim(longAgo, "i1");
    await ann.claim(await recycled(scene, "i1"), "i2");
    // Of Leases one of them has heard all, and of pods nothing.
    await asClaimsOnLeases(eve.cache.claims).readLease(scene.client, scene.key);
    for (const late of [bob, eve]) {
      expect(await isLost(late.claim(longAgo, "i3"))).toBe(true);
      expect(await late.close(longAgo)).toBe(false);
      expect(sandboxIdOf(await scene.pod())).toBe("i2");
    }
    expect(eve.watched.take()).toEqual([]);
  });

  test("of another pod of the same name takes the Lease that is left of that one", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const idle = await scene.pod();
    await ann.claim(idle, "i1");
    const another = { ...idle, metadata: { ...idle.metadata, uid: "00000000-0000-4000-8000-000000000000" } };
    expect(sandboxIdOf(await ann.claim(another, "i2"))).toBe("i2");
    expect((await scene.client.get(Leases, scene.key)).metadata.ownerReferences?.[0]?.uid).toBe(another.metadata.uid);
  });

  test("whose Lease is written by others again and again is a lost race", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    await bob.claim(await scene.pod(), "i1");
    const again = await recycled(scene, "i1");
    let writes = 0;
    ann.watched.before = async ({ verb }) => {
      if (verb === "get") return;
      await scene.client.patch(Leases, scene.key, { type: "merge", body: { metadata: { annotations: { writes: String(++writes) } } } });
    };
    expect(await isLost(ann.claim(again, "i2"))).toBe(true);
    expect(ann.watched.take().filter((call) => call !== "get leases")).toEqual(["create leases", "update leases", "update leases"]);
    expect((await scene.client.get(Leases, scene.key)).spec?.holderIdentity).toBe("i1");
  });

  test("that the server refuses for other reasons is no lost race", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    ann.watched.before = () => {
      throw new ApiError("Forbidden", "leases are not yours");
    };
    const idle = await scene.pod();
    await expect(ann.claim(idle, "i1")).rejects.toMatchObject({ reason: "Forbidden" });
    expect(ann.watched.take()).toEqual(["create leases"]);
    await expect(ann.close(idle)).rejects.toMatchObject({ reason: "Forbidden" });
  });

  test("is written to the pod itself where claims stand there, and nothing else is", async () => {
    await using world = await embeddedPodScene();
    const { scene } = world;
    const ann = new Somebody(scene, { claimsOnLeases: false });
    const idle = await scene.pod();
    expect(await ann.close(idle)).toBe(true);
    const claimed = await ann.claim(idle, "i1");
    expect(ann.watched.take()).toEqual(["patch pods"]);
    expect([isClaimElsewhere(claimed), claimed]).toEqual([false, await scene.client.get(Pods, scene.key)]);
    expect(ann.cache.podsOfSandbox("i1").toArray()).toEqual([claimed]);
  });
});

describe("closing a pod to claims", () => {
  test("is not needed where a Lease of somebody else has its name: nobody can claim it, and that Lease stays as it is", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const { namespace, name } = scene.key;
    const foreign = await scene.client.create(Leases, { metadata: { namespace, name }, spec: { holderIdentity: "somebody" } });
    const idle = await scene.pod();
    expect(await isLost(ann.claim(idle, "i1"))).toBe(true);
    expect(await ann.close(idle)).toBe(true);
    expect(await scene.client.get(Leases, scene.key)).toEqual(foreign);
  });

  test("is one write, after which nobody claims it, not even who has seen nothing of it", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    const idle = await scene.pod();
    expect(await ann.close(idle)).toBe(true);
    expect(ann.watched.take()).toEqual(["create leases"]);
    const closed = await scene.pod();
    expect([sandboxPhaseOf(closed), closed.metadata.annotations?.[leaving]]).toEqual(["idle", "2026-01-01T00:00:00.000Z"]);
    expect(planClaim(closed, { sandboxId: "i1", images: waiting }, 0)).toMatchObject({ kind: "refused", code: "terminating" });
    expect(await isLost(bob.claim(idle, "i1"))).toBe(true);
    expect(sandboxIdOf(await scene.pod())).toBeUndefined();
  });

  test("I4: loses against a claim, of which it may not have heard", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    const idle = await scene.pod();
    await ann.claim(idle, "i1");
    expect(await bob.close(idle)).toBe(false);
    // Now it has.
    expect(await bob.close(idle)).toBe(false);
    expect(bob.watched.take()).toEqual(["create leases", "get leases"]);
    expect(sandboxIdOf(await scene.pod())).toBe("i1");
  });

  test("I4: and a claim at once: one of them wins", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const idle = await scene.pod();
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    const [isClosed, isTooLate] = await Promise.all([ann.close(idle), isLost(bob.claim(idle, "i1"))]);
    expect(isTooLate).toBe(isClosed);
    expect(sandboxIdOf(await scene.pod()) === undefined).toBe(isClosed);
  });

  test("twice is one write: by somebody who sees that it is closed, and by somebody who does not", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob, eve] = [new Somebody(scene), new Somebody(scene), new Somebody(scene)];
    const idle = await scene.pod();
    expect(await Promise.all([ann.close(idle), bob.close(idle)])).toEqual([true, true]);
    const { resourceVersion } = (await scene.client.get(Leases, scene.key)).metadata;
    expect(await eve.close(await scene.pod())).toBe(true);
    expect(eve.watched.take()).toEqual([]);
    expect(await eve.close(idle)).toBe(true);
    expect(eve.watched.take()).toEqual(["create leases", "get leases"]);
    expect((await scene.client.get(Leases, scene.key)).metadata.resourceVersion).toBe(resourceVersion);
  });

  test("writes nothing about a pod that is not idle: nobody could claim it", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    await ann.claim(await scene.pod(), "i1");
    ann.watched.take();
    expect(await ann.close(await scene.pod())).toBe(true);
    await scene.release();
    expect(await ann.close(await scene.pod())).toBe(true);
    expect(ann.watched.take()).toEqual([]);
  });

  test("has happened in a namespace that goes, where nobody has claimed it", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    const idle = await scene.pod();
    await scene.client.delete(Namespaces, { name: "ns" });
    await expect(ann.claim(idle, "i1")).rejects.toMatchObject({ causes: [{ reason: "NamespaceTerminating" }] });
    expect(await bob.close(idle)).toBe(true);
  });

  test("I4: loses in a namespace that goes against a claim from before, of which it has not heard", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob] = [new Somebody(scene), new Somebody(scene)];
    const idle = await scene.pod();
    await ann.claim(idle, "i1");
    // It goes as all others do, but not at once.
    await scene.client.patch(Leases, scene.key, { type: "merge", body: { metadata: { finalizers: ["test.invalid/slow"] } } });
    await scene.client.delete(Namespaces, { name: "ns" });
    expect(await bob.close(idle)).toBe(false);
  });

  test("writes there on the Lease of an earlier use, if there is one", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const [ann, bob, eve] = [new Somebody(scene), new Somebody(scene), new Somebody(scene)];
    await ann.claim(await scene.pod(), "i1");
    const again = await recycled(scene, "i1");
    await scene.client.patch(Leases, scene.key, { type: "merge", body: { metadata: { finalizers: ["test.invalid/slow"] } } });
    await scene.client.delete(Namespaces, { name: "ns" });
    expect(await bob.close(again)).toBe(true);
    expect(bob.watched.take()).toEqual(["create leases", "get leases", "update leases"]);
    expect(await isLost(ann.claim(again, "i2"))).toBe(true);
    expect(await eve.close(again)).toBe(true);
  });
});

describe("bringing a claim to its pod", () => {
  async function claimed(
    scene: PodScene,
    ann: Somebody,
  ): Promise<{ readonly pod: Pod; readonly images: Readonly<Record<string, string>> }> {
    const idle = await scene.pod();
    const { change, ...plan } = ann.plan(idle, "i1", { images: other, labels: { "example.com/job": "j1" } });
    expect(plan.isForPod).toBe(true);
    const pod = await writeClaim(ann, idle, { change, ...plan });
    ann.watched.take();
    return { pod, images: change.images ?? {} };
  }

  test("is one write with which the pod carries all of it, and its images", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const { pod, images } = await claimed(scene, ann);
    expect(pod.spec.containers[0]?.image).not.toBe(images["main"]);
    const written = await bringToPod(ann, pod, images);
    expect(ann.watched.take()).toEqual(["patch pods"]);
    expect(written).toEqual(await scene.client.get(Pods, scene.key));
    expect([written.metadata.labels, written.metadata.annotations]).toEqual([pod.metadata.labels, pod.metadata.annotations]);
    expect([sandboxPhaseOf(written), written.spec.containers[0]?.image, isClaimElsewhere(written)]).toEqual([
      "starting",
      images["main"],
      false,
    ]);
    expect(ann.cache.podsOfSandbox("i1").toArray()).toEqual([written]);
  });

  test("is tried again when the node has reported something meanwhile", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const { pod, images } = await claimed(scene, ann);
    await scene.nodeReports({ message: "hello" });
    const written = await bringToPod(ann, pod, images);
    expect(ann.watched.take()).toEqual(["patch pods", "get pods", "get leases", "patch pods"]);
    expect([sandboxIdOf(written), written.status?.message, written.spec.containers[0]?.image]).toEqual(["i1", "hello", images["main"]]);
  });

  test("is given up when the sandbox has ended meanwhile, or somebody else has the pod, or it is gone: a lost race", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const { pod, images } = await claimed(scene, ann);
    await scene.release();
    const stopping = await scene.pod();
    expect(await isLost(bringToPod(ann, pod, images))).toBe(true);
    expect((await scene.pod()).metadata.resourceVersion).toBe(stopping.metadata.resourceVersion);
    const again = await recycled(scene, "i1");
    expect(await isLost(bringToPod(ann, pod, images))).toBe(true);
    await new Somebody(scene).claim(again, "i2");
    expect(await isLost(bringToPod(ann, pod, images))).toBe(true);
    expect((await scene.pod()).spec.containers).toEqual(again.spec.containers);
    await scene.client.patch(Pods, scene.key, { type: "merge", body: { metadata: { finalizers: null } } });
    await scene.client.delete(Pods, scene.key, { gracePeriodSeconds: 0 });
    expect(await isLost(bringToPod(ann, pod, images))).toBe(true);
  });

  test("is given up when the pod changes again and again, and when the server says no", async () => {
    await using world = await embeddedPodScene(onLeases);
    const { scene } = world;
    const ann = new Somebody(scene);
    const { pod, images } = await claimed(scene, ann);
    let reports = 0;
    ann.watched.before = async ({ verb }) => void (verb === "patch" && (await scene.nodeReports({ message: `${++reports}` })));
    expect(await isLost(bringToPod(ann, pod, images))).toBe(true);
    expect(reports).toBe(3);
    ann.watched.before = () => {
      throw new ApiError("TooManyRequests", "later");
    };
    await expect(bringToPod(ann, pod, images)).rejects.toMatchObject({ reason: "TooManyRequests" });
    expect(sandboxPhaseOf(await scene.client.get(Pods, scene.key))).toBe("idle");
  });
});
