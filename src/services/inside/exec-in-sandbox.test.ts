import { expect, test } from "vitest";
import { ann, eve, failureOf, podKey, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { DaemonError } from "#daemon-client/daemon-client.ts";
import { PodAccessError } from "#kube/pod-access.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { execInSandbox } from "./exec-in-sandbox.ts";
import { ServiceError } from "#services/service-error.ts";

const command = { argv: ["echo", "hi"], env: { A: "1" }, user: "root", workingDir: "/tmp" };

test("a command is run in the sandbox's first container, as it was asked for", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await execInSandbox(scene, ann, "i-1", command);
  expect(scene.pods.ran).toEqual([{ pod: podKey("i-1"), container: "main", command }]);
});

test("a command finds what its sandbox was created with, and its own variables go before", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const { client, cache, history, clock, log, pods, activity } = scene;
  const parts = { client, cache, history, clock, log, pods, activity };
  const deps = { ...parts, variables: async () => ({ A: "sandbox", SECRET: "s" }) };
  await execInSandbox(deps, ann, "i-1", command);
  expect(scene.pods.ran[0]?.command.env).toEqual({ A: "1", SECRET: "s" });
  const lost = { ...parts, variables: () => Promise.reject(new ServiceError("unavailable", "no daemon")) };
  expect(await failureOf(execInSandbox(lost, ann, "i-1", command))).toMatchObject({ code: "unavailable" });
  expect(scene.pods.ran).toHaveLength(1);
});

test("W21: a command that runs is use of its sandbox for as long as it runs", async () => {
  await using scene = await ServiceScene.open();
  const pod = await scene.sandbox("i-1");
  expect(await scene.activity.activityOf(pod)).toMatchObject({ inUse: false });
  await execInSandbox(scene, ann, "i-1", command);
  await scene.clock.step(3_600_000);
  expect(await scene.activity.activityOf(pod)).toMatchObject({ inUse: true });
  scene.pods.exit(0);
  await settle();
  expect(await scene.activity.activityOf(pod)).toEqual({ kind: "known", inUse: false, lastActiveMs: scene.clock.now() });
});

test("a command that could not be started is no use that goes on", async () => {
  await using scene = await ServiceScene.open();
  const pod = await scene.sandbox("i-1");
  scene.pods.failure = new PodAccessError("not_running", "the container main is not running");
  expect(await failureOf(execInSandbox(scene, ann, "i-1", command))).toMatchObject({
    code: "conflict",
    message: "the container main is not running",
  });
  expect(await scene.activity.activityOf(pod)).toMatchObject({ inUse: false });
});

test("a sandbox that starts, is paused, stops or has ended refuses commands, and says what it is", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-starting", { phase: "starting" });
  await scene.sandbox("i-paused", { annotations: { [annotationKeys.paused]: scene.now } });
  await scene.sandbox("i-stopping", { phase: "stopping" });
  await scene.record("i-ended");
  const told = async (id: string) => {
    const { code, message } = await failureOf(execInSandbox(scene, ann, id, command));
    return `${code}: ${message}`;
  };
  expect(await told("i-starting")).toBe("conflict: sandbox i-starting is starting: commands can be run once it runs");
  expect(await told("i-paused")).toBe("conflict: sandbox i-paused is paused: resume it to run a command");
  expect(await told("i-stopping")).toBe("conflict: sandbox i-stopping is stopping: running a command in it is no longer possible");
  expect(await told("i-ended")).toContain("has ended (Completed)");
  expect(scene.pods.ran).toEqual([]);
});

test("a sandbox whose daemon is armed for it takes commands, though its pod does not say yet that it has started", async () => {
  await using scene = await ServiceScene.open();
  const { metadata } = await scene.sandbox("i-1", { phase: "starting" });
  const podUid = metadata.uid ?? "";
  const { client, cache, history, clock, log, pods, activity } = scene;
  const parts = { client, cache, history, clock, log, pods, activity };
  const armedFor = (sandboxId: string | undefined) => ({
    ...parts,
    daemons: { health: async () => ({ podUid, bootId: "boot", ...(sandboxId === undefined ? {} : { sandboxId }) }) },
  });
  const gone = { ...parts, daemons: { health: () => Promise.reject(new DaemonError("unreachable", "nobody answers")) } };
  for (const deps of [armedFor(undefined), armedFor("i-before"), gone]) {
    expect((await failureOf(execInSandbox(deps, ann, "i-1", command))).message).toContain("is starting");
  }
  expect(scene.pods.ran).toEqual([]);
  await execInSandbox(armedFor("i-1"), ann, "i-1", command);
  expect(scene.pods.ran).toHaveLength(1);
});

test("what is wrong with a command is named", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  expect(await failureOf(execInSandbox(scene, ann, "i-1", { argv: [] }))).toMatchObject({ details: { field: "command" } });
  expect(await failureOf(execInSandbox(scene, ann, "i-1", { ...command, container: "x" }))).toMatchObject({
    details: { field: "container", available: ["main"] },
  });
});

test("I8: no command reaches a pod that is somebody else's by the server's word", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.changeUnseen("i-1", { labels: { [labelKeys.sandboxId]: "i-eve", [labelKeys.team]: "blue", [labelKeys.user]: "eve" } });
  expect((await failureOf(execInSandbox(scene, ann, "i-1", command))).code).toBe("conflict");
  await scene.sandbox("i-2");
  await scene.changeUnseen("i-2", { labels: { [labelKeys.team]: "blue" } });
  expect((await failureOf(execInSandbox(scene, ann, "i-2", command))).code).toBe("conflict");
  expect(scene.pods.ran).toEqual([]);
});

test("I8: a command for a foreign sandbox is answered in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  const wordsFor = async (id: string) => wordsOf(await failureOf(execInSandbox(scene, eve, id, command)), id);
  expect(await wordsFor("i-1")).toBe(await wordsFor("i-none"));
});
