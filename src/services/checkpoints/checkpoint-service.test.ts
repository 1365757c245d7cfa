import { annotationKeys } from "#model/keys.ts";
import { volumeMountsText } from "#model/volume-mounts.ts";
import { expect, test } from "vitest";
import { CheckpointRefused } from "#engine-port/checkpoint-images.ts";
import { podConditions } from "#model/keys.ts";
import { pauseSandbox } from "#services/changing/pause-sandbox.ts";
import { type Caller } from "#services/caller.ts";
import type { CreatedSandbox, CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { baseImage, CheckpointScene } from "../../../test/world/checkpoint-scene.ts";
import { admin, ann, bob, eve, failureOf, redTeam, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { meantCreate } from "./meant-checkpoint.ts";

const { signal } = new AbortController();
const [first, second] = ["i-1", "i-2"];
const end = (): Promise<void> => Promise.reject(new Error("no child is to be ended"));

test("a checkpoint is answered when it is there, and is its owner's alone", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  const taken = await scene.checkpoints.take(ann, { sandboxId: first, alias: "ready:v1" }, signal);
  expect(taken).toMatchObject({ phase: "Succeeded", sandboxId: first, alias: "ready:v1", team: "red", user: "ann", purpose: "snapshot" });
  for (const caller of [ann, redTeam, admin]) {
    expect((await scene.checkpoints.get(caller, taken.id)).id).toBe(taken.id);
    expect((await scene.checkpoints.get(caller, "ready")).id).toBe(taken.id);
    expect(scene.checkpoints.list(caller, { alias: "ready" }).checkpoints).toHaveLength(1);
  }
  const unknown = wordsOf(await failureOf(scene.checkpoints.get(eve, "cp-00000000000000000000")), "cp-00000000000000000000");
  for (const caller of [eve, bob]) {
    expect(wordsOf(await failureOf(scene.checkpoints.get(caller, taken.id)), taken.id)).toBe(unknown);
    expect(wordsOf(await failureOf(scene.checkpoints.delete(caller, taken.id)), taken.id)).toBe(unknown);
    expect(scene.checkpoints.list(caller, {}).checkpoints).toEqual([]);
    expect((await failureOf(scene.checkpoints.take(caller, { sandboxId: first }, signal))).code).toBe("not_found");
  }
});

test("a deleted one is gone from lists at once", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  const { id } = await scene.checkpoints.take(ann, { sandboxId: first }, signal);
  await scene.checkpoints.delete(ann, id);
  expect(scene.checkpoints.list(ann, {}).checkpoints).toEqual([]);
  expect((await failureOf(scene.checkpoints.delete(ann, id))).code).toBe("not_found");
  await settle();
  expect([...scene.images.kept]).toEqual([]);
});

test("one that fails leaves nothing, and its caller is told why", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  scene.images.failure = new CheckpointRefused("LimitReached", "team red has no room");
  const failure = await failureOf(scene.checkpoints.take(ann, { sandboxId: first }, signal));
  expect(failure).toMatchObject({ code: "limit_reached", message: "no checkpoint was taken: team red has no room" });
  await settle();
  expect(scene.checkpoints.list(ann, {}).checkpoints).toEqual([]);
});

test("one whose caller goes away leaves nothing", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  const held = Promise.withResolvers<void>();
  scene.images.hold = held.promise;
  const away = new AbortController();
  const taking = scene.checkpoints.take(ann, { sandboxId: first }, away.signal);
  await settle();
  away.abort(new Error("gone"));
  expect((await failureOf(taking)).code).toBe("canceled");
  held.resolve();
  await scene.services.clock.step(60_000);
  expect(scene.checkpoints.list(ann, {}).checkpoints).toEqual([]);
  expect([...scene.images.kept]).toEqual([]);
});

test("while one is taken a pause is refused, and the answer names both", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  const held = Promise.withResolvers<void>();
  scene.images.hold = held.promise;
  const taking = scene.checkpoints.take(ann, { sandboxId: first }, signal);
  await settle();
  const failure = await failureOf(pauseSandbox(scene.services, ann, first, signal));
  expect(failure).toMatchObject({ code: "conflict", message: expect.stringMatching(/pause .* checkpoint /) });
  held.resolve();
  await taking;
});

test("memory is refused with the reason, and so is a name that is none", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  const memory = await failureOf(scene.checkpoints.take(ann, { sandboxId: first, memory: true }, signal));
  expect(memory).toMatchObject({ code: "not_implemented", details: { field: "memory" } });
  for (const alias of ["", "Upper", "a b", "a:", ":v1", "x".repeat(64)]) {
    const failure = await failureOf(scene.checkpoints.take(ann, { sandboxId: first, alias }, signal));
    expect(failure).toMatchObject({ code: "invalid_request", details: { field: "alias" } });
  }
});

test("a create from a checkpoint means its image in the pool that it was taken in; a name alone gives no right to the image", async () => {
  await using scene = await CheckpointScene.open();
  await scene.sandbox(first);
  const { client, cache } = scene.services;
  const deps = { client, cache };
  const { SandboxPools } = await import("#model/sandbox-pool.ts");
  await client.create(SandboxPools, { metadata: { namespace: "default", name: "py" }, spec: { replicas: 0, templateName: "py" } });
  await settle();
  const { id, image = "" } = await scene.checkpoints.take(ann, { sandboxId: first, alias: "ready:v1" }, signal);
  for (const wish of [{ from: id }, { from: "ready" }, { from: "ready", templateVersion: "v1" }]) {
    expect(await meantCreate(deps, ann, wish)).toEqual({ from: "default/py", image });
  }
  expect(await meantCreate(deps, ann, { from: "py", image })).toEqual({ from: "py", image });
  const refused = await failureOf(meantCreate(deps, eve, { from: "py", image }));
  expect(refused).toMatchObject({ code: "not_found", details: { field: "image" } });
  expect(await meantCreate(deps, eve, { from: id }), "as if there were none").toEqual({ from: id });
  expect((await failureOf(meantCreate(deps, admin, { from: id }))).message).toContain("act as that team");
  expect((await failureOf(meantCreate(deps, ann, { from: id, image: "other" }))).details.field).toBe("image");
});

test("a fork makes its children for the owner, each by itself, and keeps nothing of its checkpoint", async () => {
  const asked: [Caller, CreateSandbox][] = [];
  const create = async (caller: Caller, command: CreateSandbox): Promise<CreatedSandbox> => {
    asked.push([caller, command]);
    if (asked.length === 2) throw new ServiceError("no_capacity", "there is no pod");
    return { sandbox: { sandboxId: second } as CreatedSandbox["sandbox"] };
  };
  await using scene = await CheckpointScene.open({ claims: { create, end }, variables: async () => ({ A: "1" }) });
  await scene.sandbox(first);
  const children = await scene.checkpoints.fork(admin, { sandboxId: first, count: 3, lifetimeMs: 5000 }, signal);
  expect(children.map((child) => ("failure" in child ? child.failure.code : "made"))).toEqual(["made", "no_capacity", "made"]);
  expect(asked[0]).toMatchObject([
    { team: "red", user: "ann" },
    { from: scene.images.orders[0]?.id, lifetimeMs: 5000, envVars: { A: "1" }, idleTimeoutMs: 0 },
  ]);
  await settle();
  expect(scene.checkpoints.list(admin, { purpose: "fork" }).checkpoints).toEqual([]);
});

test("a fork whose caller goes away ends the children that were there already: nothing would know of them", async () => {
  const leaving = new AbortController();
  const ended: string[] = [];
  let asked = 0;
  const create = async (): Promise<CreatedSandbox> => {
    asked += 1;
    if (asked === 1) return { sandbox: { sandboxId: second } as CreatedSandbox["sandbox"] };
    leaving.abort(new Error("the caller left"));
    throw new ServiceError("timeout", "the caller left");
  };
  const endOne = async (_: Caller, id: string): Promise<void> => void ended.push(id);
  await using scene = await CheckpointScene.open({ claims: { create, end: endOne } });
  await scene.sandbox(first);
  await expect(scene.checkpoints.fork(ann, { sandboxId: first, count: 2 }, leaving.signal)).rejects.toThrow("the caller left");
  expect(ended).toEqual([second]);
});

test("the children of a fork have the volumes of their original, which are not in the checkpoint", async () => {
  const asked: CreateSandbox[] = [];
  const create = async (_: Caller, command: CreateSandbox): Promise<CreatedSandbox> => {
    asked.push(command);
    return { sandbox: { sandboxId: second } as CreatedSandbox["sandbox"] };
  };
  await using scene = await CheckpointScene.open({ claims: { create, end } });
  const text = volumeMountsText([{ uid: "u-1", name: "data", path: "/mnt/data", readOnly: true }]);
  await scene.services.sandbox(first, { container: { image: baseImage }, annotations: { [annotationKeys.volumeMounts]: text } });
  await scene.checkpoints.fork(admin, { sandboxId: first }, signal);
  expect(asked[0]?.volumeMounts).toEqual([{ name: "u-1", path: "/mnt/data", readOnly: true }]);
});

test("a fork of what is paused, of what has ended, and of too many is refused before anything is taken", async () => {
  await using scene = await CheckpointScene.open({
    guard: { reserve: () => ({ release: () => {}, [Symbol.dispose]: () => {} }), ofTeam: () => 5 },
  });
  await scene.sandbox(first);
  for (const count of [0, 101, 1.5, 5]) {
    expect(await failureOf(scene.checkpoints.fork(ann, { sandboxId: first, count }, signal))).toMatchObject({
      code: "invalid_request",
      details: { field: "count" },
    });
  }
  expect((await failureOf(scene.checkpoints.fork(ann, { sandboxId: "i-0" }, signal))).code).toBe("not_found");
  await scene.services.record(second);
  expect((await failureOf(scene.checkpoints.fork(ann, { sandboxId: second }, signal))).code).toBe("not_found");
  const paused = { type: podConditions.paused, status: "True" } as const;
  await scene.services.change(first, { annotations: { "agentbox.navix.sh/paused": scene.services.now } });
  await scene.services.report(first, { conditions: [{ type: "Ready", status: "True" }, paused] });
  expect(await failureOf(scene.checkpoints.fork(ann, { sandboxId: first }, signal))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("resume it first"),
  });
  expect(scene.images.orders).toEqual([]);
});
