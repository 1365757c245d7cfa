import fc from "fast-check";
import { expect, test } from "vitest";
import { ann, eve, failureOf, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { TimeoutChange } from "#services/sandbox-service.ts";
import { setTimeouts } from "./set-timeouts.ts";

const hour = 3_600_000;
const after = (scene: ServiceScene, ms: number) => new Date(scene.clock.now() + ms).toISOString();

test("an idle timeout begins anew with its change, and 0 takes it away", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.lastActive]: scene.now } });
  await scene.clock.step(hour);
  const view = await setTimeouts(scene, ann, "i-1", { idleTimeoutMs: 60_000 });
  expect(view).toMatchObject({ idleTimeoutMs: 60_000, lastActiveAt: scene.now });
  expect(await setTimeouts(scene, ann, "i-1", { idleTimeoutMs: 0 })).not.toHaveProperty("idleTimeoutMs");
});

test("a lifetime is from now on, null takes the end away, and what is left out stays", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.idleTimeout]: "60" } });
  expect(await setTimeouts(scene, ann, "i-1", { lifetimeMs: hour })).toMatchObject({ endTime: after(scene, hour), idleTimeoutMs: 60_000 });
  expect(await setTimeouts(scene, ann, "i-1", {})).toMatchObject({ endTime: after(scene, hour) });
  expect(await setTimeouts(scene, ann, "i-1", { lifetimeMs: null })).not.toHaveProperty("endTime");
});

test("only later: an end that is later already stays, and one that never comes is later than any", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.endTime]: after(scene, hour) } });
  const extend = (lifetimeMs: number) => setTimeouts(scene, ann, "i-1", { lifetimeMs, onlyLater: true });
  const before = (await scene.stored("i-1")).metadata.resourceVersion;
  expect((await extend(60_000)).endTime).toBe(after(scene, hour));
  expect((await scene.stored("i-1")).metadata.resourceVersion).toBe(before);
  expect((await extend(2 * hour)).endTime).toBe(after(scene, 2 * hour));
  await setTimeouts(scene, ann, "i-1", { lifetimeMs: null });
  expect(await extend(hour)).not.toHaveProperty("endTime");
});

test("a change that meets another one is decided anew on what is there then", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.changeUnseen("i-1", { annotations: { [annotationKeys.endTime]: after(scene, 5 * hour) } });
  expect((await setTimeouts(scene, ann, "i-1", { lifetimeMs: hour, onlyLater: true })).endTime).toBe(after(scene, 5 * hour));
  await scene.changeUnseen("i-1", { annotations: { "example.com/note": "x" } });
  expect((await setTimeouts(scene, ann, "i-1", { lifetimeMs: 9 * hour, onlyLater: true })).endTime).toBe(after(scene, 9 * hour));
});

test("I4: a timeout is never written to a pod that is another's meanwhile", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.changeUnseen("i-1", { labels: { [labelKeys.sandboxId]: "i-eve", [labelKeys.team]: "blue", [labelKeys.user]: "eve" } });
  expect((await failureOf(setTimeouts(scene, ann, "i-1", { lifetimeMs: 1 }))).code).toBe("conflict");
  expect((await scene.stored("i-1")).metadata.annotations).not.toHaveProperty([annotationKeys.endTime]);
});

test("while a sandbox is paused no timeout runs, and none can be set", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.paused]: scene.now } });
  expect(await failureOf(setTimeouts(scene, ann, "i-1", { lifetimeMs: hour }))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("resume it"),
  });
});

test("times that are none are refused by name, and nothing is written", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const before = (await scene.stored("i-1")).metadata.resourceVersion;
  const fieldOf = async (change: TimeoutChange) => (await failureOf(setTimeouts(scene, ann, "i-1", change))).details.field;
  for (const ms of [-1, Number.NaN, Infinity, 367 * 24 * hour]) {
    expect(await fieldOf({ idleTimeoutMs: ms })).toBe("idleTimeout");
    expect(await fieldOf({ lifetimeMs: ms })).toBe("lifetime");
  }
  expect(await fieldOf({ lifetimeMs: 0 })).toBe("lifetime");
  expect((await scene.stored("i-1")).metadata.resourceVersion).toBe(before);
});

test("I8: a foreign sandbox's timeouts are answered in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const wordsFor = async (id: string) => wordsOf(await failureOf(setTimeouts(scene, eve, id, { lifetimeMs: hour })), id);
  expect(await wordsFor("i-1")).toBe(await wordsFor("i-none"));
});

test("however often it is asked for, only later never makes an end earlier", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { annotations: { [annotationKeys.endTime]: after(scene, 1000) } });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 10 * hour }), fc.integer({ min: 0, max: 1000 }), async (lifetimeMs, passes) => {
      const before = Date.parse((await scene.stored("i-1")).metadata.annotations?.[annotationKeys.endTime] ?? "");
      await scene.clock.step(passes);
      const { endTime = "" } = await setTimeouts(scene, ann, "i-1", { lifetimeMs, onlyLater: true });
      expect(Date.parse(endTime)).toBe(Math.max(before, scene.clock.now() + lifetimeMs));
    }),
    { numRuns: 40 },
  );
});

test.each<[string, TimeoutChange]>([
  ["an idle timeout of a nanosecond", { idleTimeoutMs: 1e-6 }],
  ["an idle timeout that a create would not take", { idleTimeoutMs: 31 * 24 * hour }],
  ["a lifetime that a create would not take", { lifetimeMs: 31 * 24 * hour }],
])("%s is refused, and the limits are named", async (_, change) => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const failure = await failureOf(setTimeouts(scene, ann, "i-1", change));
  expect([failure.code, failure.message]).toEqual(["invalid_request", expect.stringMatching(/must be from 1m?s to 720h/)]);
});
