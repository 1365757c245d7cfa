import { expect, test } from "vitest";
import { ann, eve, failureOf, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxDetail } from "#services/sandbox-service.ts";
import { watchSandbox } from "./watch-sandbox.ts";

/** Reads on in the background. */
function watching(scene: ServiceScene, id = "i-1") {
  const abort = new AbortController();
  const seen: SandboxDetail[] = [];
  const done = (async () => {
    for await (const detail of watchSandbox(scene, ann, id, abort.signal)) seen.push(detail);
  })();
  return { abort, seen, done, statuses: () => seen.map(({ status }) => status) };
}

test("a watch begins with the sandbox as it is, tells each change once, and ends with its record", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { phase: "starting" });
  const watch = watching(scene);
  await settle();
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "running" } });
  await settle();
  await scene.change("i-1", { annotations: { "example.com/none": "of our business" } });
  await settle();
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  await settle();
  await scene.end("i-1");
  await watch.done;
  expect(watch.statuses()).toEqual(["Starting", "Running", "Stopping", "Completed"]);
});

test("a reader who is slow misses what came between, and never the end", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const reader = watchSandbox(scene, ann, "i-1", new AbortController().signal);
  expect((await reader.next()).value?.status).toBe("Running");
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  await scene.end("i-1");
  expect((await reader.next()).value?.status).toBe("Completed");
  expect((await reader.next()).done).toBe(true);
});

test("a watch ends with the record, however long the pod rests afterwards", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const timers = scene.clock.pending;
  const watch = watching(scene);
  await settle();
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
  await settle();
  expect(watch.statuses()).toEqual(["Running", "Stopping"]);
  await scene.record("i-1");
  await scene.clock.step(1000);
  await watch.done;
  expect(watch.statuses()).toEqual(["Running", "Stopping", "Completed"]);
  expect(scene.clock.pending).toBe(timers);
});

test("a watch of an ended sandbox is its record and nothing more", async () => {
  await using scene = await ServiceScene.open();
  await scene.record("i-1");
  const watch = watching(scene);
  await watch.done;
  expect(watch.statuses()).toEqual(["Completed"]);
});

test("a watch that nobody wants any more ends, and leaves no listener behind", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  let listeners = 0;
  const live = {
    follow(id: string, listener: () => void) {
      const end = scene.live.follow(id, listener);
      listeners += 1;
      return () => {
        listeners -= 1;
        end();
      };
    },
  };
  const abort = new AbortController();
  const { client, cache, history, clock } = scene;
  const reader = watchSandbox({ client, cache, history, clock, live }, ann, "i-1", abort.signal);
  await reader.next();
  const next = reader.next();
  await settle();
  expect(listeners).toBe(1);
  abort.abort();
  expect((await next).done).toBe(true);
  expect(listeners).toBe(0);
});

test("I8: a pod that is given to somebody else ends the watch of who had it", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const watch = watching(scene);
  await settle();
  await scene.record("i-1", { status: "Released", stopReason: "Released" });
  await scene.change("i-1", { labels: { [labelKeys.sandboxId]: "i-2", [labelKeys.team]: "blue", [labelKeys.user]: "eve" } });
  await watch.done;
  expect(watch.seen.map(({ sandboxId, status }) => [sandboxId, status])).toEqual([
    ["i-1", "Running"],
    ["i-1", "Released"],
  ]);
});

test("I8: a foreign sandbox cannot be watched, in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-live");
  const wordsFor = async (id: string) => wordsOf(await failureOf(watchSandbox(scene, eve, id, new AbortController().signal).next()), id);
  expect(await wordsFor("i-live")).toBe(await wordsFor("i-none"));
});
