import { expect, test } from "vitest";
import { ann, eve, failureOf, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { PodAccessError } from "#kube/pod-access.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { sandboxLogs } from "./sandbox-logs.ts";
import type { LogRequest } from "#services/sandbox-service.ts";

const toEve = { [labelKeys.sandboxId]: "i-eve", [labelKeys.team]: "blue", [labelKeys.user]: "eve" };

async function logOf(scene: ServiceScene, request: LogRequest = {}): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of sandboxLogs(scene, ann, "i-1", request)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("I2: a log is cut at the claim, whatever was asked for, and never of an earlier container", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.clock.step(90_000);
  scene.pods.log = () => [Buffer.from("one\n"), Buffer.from("two\n")];
  expect(await logOf(scene, { sinceMs: 10 * 60_000, tail: 5 })).toBe("one\ntwo\n");
  await logOf(scene, { sinceMs: 1000 });
  await logOf(scene);
  expect(scene.pods.read.map(({ sinceMs, tail, previous, container }) => [sinceMs, tail, previous, container])).toEqual([
    [90_000, 5, undefined, "main"],
    [1000, undefined, undefined, "main"],
    [90_000, undefined, undefined, "main"],
  ]);
});

test("I8: a pod that another sandbox got meanwhile is not read, also when the cache is late", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.changeUnseen("i-1", { labels: toEve });
  scene.pods.log = () => [Buffer.from("eve's secret")];
  expect((await failureOf(logOf(scene))).code).toBe("conflict");
  expect(scene.pods.read).toEqual([]);
});

test("I2: what a log gives that was opened when the pod was already another's is thrown away", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  scene.pods.log = async function* () {
    await scene.changeUnseen("i-1", { labels: toEve });
    yield Buffer.from("eve's secret");
  };
  expect(await failureOf(logOf(scene))).toMatchObject({ code: "conflict", message: expect.stringContaining("has ended meanwhile") });
  expect((await failureOf(logOf(scene, { follow: new AbortController().signal }))).code).toBe("not_found");
});

test("the last words of a sandbox that stops while it is read are shown", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  scene.pods.log = async function* () {
    await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "stopping" } });
    yield Buffer.from("goodbye");
  };
  expect(await logOf(scene)).toBe("goodbye");
});

test("following ends with the sandbox, and with whoever follows", async () => {
  await using scene = await ServiceScene.open();
  scene.pods.log = async function* ({ follow }) {
    yield Buffer.from("working");
    await new Promise((_, reject) => follow?.addEventListener("abort", () => reject(new Error("aborted"))));
  };
  await scene.sandbox("i-1");
  const ended = logOf(scene, { follow: new AbortController().signal });
  await settle();
  await scene.end("i-1");
  expect(await ended).toBe("working");

  await scene.change("i-1", {
    labels: { [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i-1", [labelKeys.team]: "red", [labelKeys.user]: "ann" },
    annotations: { [annotationKeys.claimedAt]: scene.now },
  });
  const abort = new AbortController();
  const left = logOf(scene, { follow: abort.signal });
  await settle();
  abort.abort(new Error("the caller went away"));
  expect(await left).toBe("working");
});

test("following ends with the sandbox's last words where its pod rests, long before its container goes", async () => {
  await using scene = await ServiceScene.open();
  scene.pods.log = async function* ({ follow }) {
    yield Buffer.from("working");
    await scene.change("i-1", {
      labels: { [labelKeys.sandboxPhase]: "stopping" },
      annotations: { [annotationKeys.restsSince]: scene.now },
    });
    yield Buffer.from(", goodbye");
    await new Promise((_, reject) => follow?.addEventListener("abort", () => reject(new Error("aborted"))));
  };
  await scene.sandbox("i-1");
  const ended = logOf(scene, { follow: new AbortController().signal });
  await settle();
  await scene.clock.step(2_000);
  expect(await ended).toBe("working, goodbye");
});

test("W13: a log of no sandbox, of an ended one and of no container is an answer and not a crash", async () => {
  await using scene = await ServiceScene.open();
  expect((await failureOf(logOf(scene))).code).toBe("not_found");
  await scene.record("i-1");
  expect(await failureOf(logOf(scene))).toMatchObject({ code: "conflict", message: expect.stringContaining("has ended (Completed)") });
  await scene.sandbox("i-2");
  const read = async (request: LogRequest) => sandboxLogs(scene, ann, "i-2", request).next();
  expect(await failureOf(read({ container: "other" }))).toMatchObject({
    code: "invalid_request",
    details: { field: "container", available: ["main"] },
  });
});

test("a container that has not started yet is a conflict that says so", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { phase: "starting" });
  scene.pods.log = () => {
    throw new PodAccessError("not_found", "the container main has not been started yet");
  };
  expect(await failureOf(logOf(scene))).toMatchObject({ code: "conflict", message: "the container main has not been started yet" });
});

test("I8: a foreign sandbox's log is answered in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.record("i-ended");
  const wordsFor = async (id: string) => wordsOf(await failureOf(sandboxLogs(scene, eve, id, {}).next()), id);
  expect(await wordsFor("i-1")).toBe(await wordsFor("i-none"));
  expect(await wordsFor("i-ended")).toBe(await wordsFor("i-none"));
});

test("of an ended sandbox the log that was kept is read, by its owner alone, and the last lines of it", async () => {
  await using scene = await ServiceScene.open();
  await scene.record("i-1");
  const kept = { sandboxId: "i-1", team: "red", user: "ann", container: "main", keptAt: scene.now, truncated: false };
  await scene.history.logs.put({ ...kept, text: Buffer.from("one\ntwo\nthree\n") });
  expect(await logOf(scene)).toBe("one\ntwo\nthree\n");
  expect(await logOf(scene, { tail: 2, follow: new AbortController().signal })).toBe("two\nthree\n");
  expect(await logOf(scene, { tail: 9, container: "main" })).toBe("one\ntwo\nthree\n");
  expect(await logOf(scene, { tail: 0 })).toBe("");
  expect(scene.pods.read).toEqual([]);
  const others = sandboxLogs(scene, eve, "i-1", {});
  expect((await failureOf(others.next())).code).toBe("not_found");
});

test("what a kept log cannot give is refused, and a sandbox without one says that it has ended", async () => {
  await using scene = await ServiceScene.open();
  await scene.record("i-1");
  expect(await failureOf(logOf(scene))).toMatchObject({ code: "conflict", message: expect.stringContaining("has ended") });
  const kept = { sandboxId: "i-1", team: "red", user: "ann", container: "main", keptAt: scene.now, truncated: false };
  await scene.history.logs.put({ ...kept, text: Buffer.from("one\n") });
  expect(await failureOf(logOf(scene, { sinceMs: 1000 }))).toMatchObject({ code: "invalid_request", details: { field: "since" } });
  expect(await failureOf(logOf(scene, { container: "side" }))).toMatchObject({ code: "invalid_request", details: { field: "container" } });
});
