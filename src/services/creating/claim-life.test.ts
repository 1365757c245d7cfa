/** Claims and the controllers together: what comes after a create, and after a process that did not finish one. */
import { expect, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { addressOf, ann, type ClaimProcess, type ClaimScene } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { meddled } from "../../../test/world/meddled-writes.ts";
import type { SteppedClock } from "../../../test/world/stepped-clock.ts";

/** The node brings up whatever it was told to exchange. */
async function nodeWorks(scene: ClaimScene, clock: SteppedClock): Promise<void> {
  await clock.step(100);
  await scene.nodeStarts();
  await scene.nodeReports();
  await clock.step(1_000);
}

function pathsOf(process: ClaimProcess): readonly string[] {
  return process.logged.lines.flatMap(({ msg, path }) => (msg === "sandbox created" ? [String(path)] : []));
}

test("W28: with the run image as waiting image every claim is on the fast path, not only a pod's first", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  scene.startControllers(process);
  for (let use = 0; use < 3; use++) {
    const { sandbox } = await process.create();
    await process.claims.end(ann, sandbox.sandboxId);
    await nodeWorks(scene, clock);
    expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
  }
  expect(pathsOf(process)).toEqual(["fast", "fast", "fast"]);
});

test("a create that waits is served by the pod that somebody else gives back", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  scene.startControllers(process);
  const first = await process.create();
  const waiting = process.create();
  await clock.step(1_000);
  await process.claims.end(ann, first.sandbox.sandboxId);
  await nodeWorks(scene, clock);
  const second = await waiting;
  expect(second.sandbox.podName).toBe(first.sandbox.podName);
  expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(second.sandbox.sandboxId);
  expect(await scene.history.get(first.sandbox.sandboxId, { kind: "admin" })).toMatchObject({ status: "Completed" });
});

test("a process that dies between claim and arming leaves a pod that the next process gives back (I7)", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const never = (): Promise<never> => new Promise(() => {});
  const { client, meddling } = meddled(scene.client);
  const died = await scene.process({ client, daemons: { health: never, init: never, retire: never } });
  const { sandbox } = await died.create({ startupTimeoutMs: 600_000 }, { wait: false });
  meddling.patch = never;
  await died.cache.stop();
  expect(sandboxPhaseOf(await scene.pod())).toBe("running");

  const next = await scene.process();
  scene.startControllers(next);
  await clock.step(599_000);
  expect(sandboxPhaseOf(await scene.pod()), "it may still be armed").toBe("running");
  await clock.step(2_000);
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
  await nodeWorks(scene, clock);
  expect(await scene.history.get(sandbox.sandboxId, { kind: "admin" })).toMatchObject({ failureReason: "StartupTimeout" });
  expect((await next.create()).sandbox.podName).toBe("py-1");
});

test("I5: who repeats a create that was never armed is not given what is left of it, while it stops or when it is history", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const never = (): Promise<never> => new Promise(() => {});
  const { client, meddling } = meddled(scene.client);
  const died = await scene.process({ client, daemons: { health: never, init: never, retire: never } });
  const wish = { idempotencyKey: "again", startupTimeoutMs: 60_000 };
  void died.create(wish).catch(() => {});
  await clock.step(1000);
  meddling.patch = never;
  await died.cache.stop();

  const next = await scene.process();
  scene.startControllers(next);
  await clock.step(61_000);
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
  await expect(next.create(wish)).rejects.toMatchObject({ code: "conflict", details: { retryAfterSeconds: 1 } });
  await nodeWorks(scene, clock);
  await clock.step(60_000);
  expect((await next.create(wish)).sandbox.status).toBe("Running");
});

test("a process that dies after arming leaves a sandbox, which stays (I11)", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const died = await scene.process();
  const { sandbox } = await died.create({ startupTimeoutMs: 60_000 });
  await died.cache.stop();
  const next = await scene.process();
  scene.startControllers(next);
  await clock.step(300_000);
  expect(sandboxPhaseOf(await scene.pod())).toBe("running");
  await next.claims.end(ann, sandbox.sandboxId);
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});
