import type { EngineAbilities } from "#engine-port/abilities.ts";
import { kubernetesAbilities } from "#engines/kubernetes/abilities.ts";
import { expect, test } from "vitest";
import { ann, eve, failureOf, podKey, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { annotationKeys, labelKeys, podConditionReasons, podConditions } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { freezeFailedMessage } from "#model/pause.ts";
import { type PodCondition, Pods, type PodStatus } from "#model/pod.ts";
import { pauseSandbox, resumeSandbox } from "./pause-sandbox.ts";
import { leastAfterResumeMs } from "./time-left.ts";

const signal = new AbortController().signal;
const ready: PodCondition = { type: "Ready", status: "True" };
const frozen: Partial<PodStatus> = { conditions: [ready, { type: podConditions.paused, status: "True" }] };
const hour = 3_600_000;

async function wishOf(scene: ServiceScene): Promise<string | undefined> {
  return (await scene.stored("i-1")).metadata.annotations?.[annotationKeys.paused];
}

function endOf(scene: ServiceScene): Promise<string | undefined> {
  return scene.stored("i-1").then(({ metadata }) => metadata.annotations?.[annotationKeys.endTime]);
}

function cannotFreeze(wish: string): PodCondition {
  const { freezeFailed: reason } = podConditionReasons;
  return { type: podConditions.paused, status: "False", reason, message: freezeFailedMessage(wish, "no freezer") };
}

test("W30: a pause is a wish, and is answered when the node has frozen the sandbox", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = pauseSandbox(scene, ann, "i-1", signal);
  await settle();
  expect(await wishOf(scene)).toBe(scene.now);
  await scene.report("i-1", frozen);
  expect(await pausing).toMatchObject({ sandboxId: "i-1", status: "Paused" });
  expect((await pauseSandbox(scene, ann, "i-1", signal)).status).toBe("Paused");
});

test("where no node freezes a pause is refused, and leaves no wish behind that nobody would answer", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const { client, cache, history, clock, log } = scene;
  const onNodes = (freezes: (nodeName?: string) => boolean): EngineAbilities =>
    kubernetesAbilities({ hasCheckpointRegistry: false, freezes, userNamespaces: () => false, isServerGone: () => false });
  const deps = { client, cache, history, clock, log, abilities: onNodes(() => false) };
  expect(await failureOf(pauseSandbox(deps, ann, "i-1", signal))).toMatchObject({ code: "not_implemented" });
  expect(await wishOf(scene)).toBeUndefined();
  expect((await failureOf(pauseSandbox(deps, eve, "i-1", signal))).code).toBe("not_found");
  const elsewhere = { ...deps, abilities: onNodes((nodeName) => nodeName !== "here") };
  await scene.sandbox("i-2", { nodeName: "here" });
  expect((await failureOf(pauseSandbox(elsewhere, ann, "i-2", signal))).message).toContain("the node here has no agent");
});

test("a resume gives back the time that was left, and begins the idle timeout anew", async () => {
  await using scene = await ServiceScene.open();
  const paused = { [annotationKeys.paused]: scene.now, [annotationKeys.endTime]: "2026-01-01T02:00:00.000Z" };
  await scene.sandbox("i-1", { annotations: paused, status: frozen });
  await scene.clock.step(24 * hour);
  const resuming = resumeSandbox(scene, ann, "i-1", signal);
  await settle();
  expect(await wishOf(scene)).toBeUndefined();
  await scene.report("i-1");
  const expected = new Date(scene.clock.now() + 2 * hour).toISOString();
  expect(await resuming).toMatchObject({ status: "Running", endTime: expected, lastActiveAt: scene.now });
});

test("a sandbox that was paused by its end time has a while after it is resumed", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.paused]: scene.now, [annotationKeys.endTime]: scene.now }, status: frozen });
  await scene.clock.step(hour);
  const resuming = resumeSandbox(scene, ann, "i-1", signal);
  await settle();
  await scene.report("i-1");
  await resuming;
  expect(await endOf(scene)).toBe(new Date(scene.clock.now() + leastAfterResumeMs).toISOString());
});

test("a sandbox that traffic wakes has the time again that it was made with", async () => {
  await using scene = await ServiceScene.open();
  const annotations = { [annotationKeys.paused]: scene.now, [annotationKeys.endTime]: scene.now, [annotationKeys.lifetime]: "7200" };
  await scene.sandbox("i-1", { annotations, status: frozen });
  await scene.clock.step(hour);
  const resuming = resumeSandbox(scene, ann, "i-1", signal);
  await settle();
  await scene.report("i-1");
  await resuming;
  expect(await endOf(scene)).toBe(new Date(scene.clock.now() + 2 * hour).toISOString());
});

test("five pauses, and then five resumes, at once all succeed", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = Array.from({ length: 5 }, () => pauseSandbox(scene, ann, "i-1", signal));
  await settle();
  await scene.report("i-1", frozen);
  expect((await Promise.all(pausing)).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "Paused"));
  const resuming = Array.from({ length: 5 }, () => resumeSandbox(scene, ann, "i-1", signal));
  await settle();
  await scene.report("i-1");
  expect((await Promise.all(resuming)).map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "Running"));
});

test("of two opposite wishes the second is told of the first, and changes nothing", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = pauseSandbox(scene, ann, "i-1", signal);
  await settle();
  expect(await failureOf(resumeSandbox(scene, ann, "i-1", signal))).toMatchObject({
    code: "conflict",
    message: "resume is not possible now: pause of this sandbox is under way",
    details: { retryAfterSeconds: 1 },
  });
  expect(await wishOf(scene)).toBe(scene.now);
  await scene.report("i-1", frozen);
  await pausing;
});

test("a freeze that failed is told, and its wish is withdrawn", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = failureOf(pauseSandbox(scene, ann, "i-1", signal));
  await settle();
  await scene.report("i-1", { conditions: [ready, cannotFreeze(scene.now)] });
  expect(await pausing).toMatchObject({ code: "unavailable", message: expect.stringContaining("no freezer") });
  expect(await wishOf(scene)).toBeUndefined();
});

test("a failed freeze does not withdraw another's later wish", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = failureOf(pauseSandbox(scene, ann, "i-1", signal));
  await settle();
  await scene.cache.stop();
  const body = { status: { conditions: [ready, cannotFreeze(scene.now)] } } as unknown as JsonObject;
  const failed = await scene.client.patch(Pods, podKey("i-1"), { type: "merge", body }, { subresource: "status" });
  const later = "2026-01-01T00:00:09.000Z";
  await scene.changeUnseen("i-1", { annotations: { [annotationKeys.paused]: later } });
  scene.cache.pods.remember(failed);
  expect((await pausing).code).toBe("unavailable");
  expect(await wishOf(scene)).toBe(later);
});

test("a node that does not answer ends the waiting and not the wish", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = failureOf(pauseSandbox(scene, ann, "i-1", signal));
  await settle();
  await scene.clock.step(31_000);
  expect(await pausing).toMatchObject({ code: "timeout", message: expect.stringContaining("pause is asked for and not done yet") });
  expect(await wishOf(scene)).toBeDefined();
});

test("only a running sandbox can be paused", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { phase: "starting" });
  expect(await failureOf(pauseSandbox(scene, ann, "i-1", signal))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("starting"),
  });
  expect(await wishOf(scene)).toBeUndefined();
  expect(scene.cache.sandboxWaits.held()).toEqual([]);
});

test("a sandbox that ends while it is paused is a conflict", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const pausing = failureOf(pauseSandbox(scene, ann, "i-1", signal));
  await settle();
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  expect((await pausing).code).toBe("conflict");
  expect(scene.cache.sandboxWaits.held()).toEqual([]);
});

test("a resume of what the cache does not show as paused yet is decided on the server's word", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.changeUnseen("i-1", { annotations: { [annotationKeys.paused]: scene.now } });
  await resumeSandbox(scene, ann, "i-1", signal);
  expect(await wishOf(scene)).toBeUndefined();
});

test("I8: pausing and resuming a foreign sandbox is answered in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  for (const act of [pauseSandbox, resumeSandbox]) {
    const wordsFor = async (id: string) => wordsOf(await failureOf(act(scene, eve, id, signal)), id);
    expect(await wordsFor("i-1")).toBe(await wordsFor("i-none"));
  }
  expect(await wishOf(scene)).toBeUndefined();
});
