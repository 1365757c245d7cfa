import { expect, test } from "vitest";
import { able, unable } from "#engine-port/abilities.ts";
import { startVolumeController } from "#controllers/volume/reconcile-volume.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { annotationKeys, finalizers } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxVolumes } from "#model/sandbox-volume.ts";
import { volumeMountsText } from "#model/volume-mounts.ts";
import type { Caller } from "#services/caller.ts";
import type { ServiceError } from "#services/service-error.ts";
import { LimitGuard } from "#services/limits/limit-guard.ts";
import { VolumeCache } from "#volumes/volume-cache.ts";
import { sleep } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Registry } from "prom-client";
import { admin, ann, bob, eve, failureOf, namespace, redTeam, ServiceScene } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { resolveMounts } from "./resolve-mounts.ts";
import { openVolume } from "./volume-contents.ts";
import { type VolumeService, volumeService } from "./volume-service.ts";

function failing(work: () => unknown): Promise<ServiceError> {
  return failureOf(Promise.try(work));
}

/** Over the embedded store; where data would be is a map. */
class VolumeScene implements AsyncDisposable {
  readonly scene: ServiceScene;
  readonly volumes: VolumeCache;
  readonly data = new Map<string, number>();
  readonly service: VolumeService;
  readonly abilities = { volumes: () => able };
  /** Thrown by the next call that makes or removes data. */
  failure: Error | undefined;

  private constructor(scene: ServiceScene) {
    this.scene = scene;
    this.volumes = new VolumeCache(scene);
    const guard = new LimitGuard({
      cache: scene.cache,
      use: { pods: () => 0, pools: () => 0, keys: () => 0, templates: () => 0 },
      usual: { volumes: 2, volumeMiB: 100 },
    });
    guard.countVolumes(
      (...of) => this.volumes.count(...of),
      (...of) => this.volumes.sizeMiB(...of),
    );
    this.service = volumeService({ ...this.deps, guard });
  }

  get deps() {
    const { client, cache } = this.scene;
    return {
      client,
      cache,
      namespace,
      abilities: this.abilities,
      tokenOf: (uid: string) => `token of ${uid}`,
      volumes: this.volumes,
      engine: this.engine,
      clock: this.scene.clock,
    };
  }

  readonly engine = {
    make: async (uid: string, sizeBytes: number): Promise<void> => {
      this.#fail();
      this.data.set(uid, sizeBytes);
    },
    remove: async (uid: string): Promise<void> => {
      this.#fail();
      this.data.delete(uid);
    },
    usedBytes: async () => 3 * 2 ** 20,
    files: {} as never,
  };

  #fail(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }

  static async open(): Promise<VolumeScene> {
    const at = new VolumeScene(await ServiceScene.open());
    await at.volumes.run();
    return at;
  }

  controller() {
    const metrics = prometheusMetrics(new Registry());
    return startVolumeController({ ...this.deps, clock: this.scene.clock, log: this.scene.log, metrics });
  }

  names(caller: Caller): readonly string[] {
    return this.service.list(caller).map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.volumes.stop();
    await this.scene[Symbol.asyncDispose]();
  }
}

test("a volume is ready when it is answered, with its data, and is shown to its team", async () => {
  await using at = await VolumeScene.open();
  const made = await at.service.make(redTeam, { name: "data", sizeMiB: 32 });
  expect(made).toMatchObject({ name: "data", sizeMiB: 32, phase: "Ready", team: "red", mountedBy: [] });
  expect([...at.data.values()]).toEqual([32 * 2 ** 20]);
  expect(await at.service.get(redTeam, "data")).toMatchObject({ id: made.id, usedMiB: 3 });
  expect([at.names(redTeam), at.names(ann), at.names(admin)]).toEqual([["data"], ["data"], ["data"]]);
});

test("a volume of another team does not exist, by name or id", async () => {
  await using at = await VolumeScene.open();
  const { id } = await at.service.make(redTeam, { name: "data", sizeMiB: 16 });
  expect(at.names(eve)).toEqual([]);
  for (const name of [id, "data"]) {
    expect(await failing(() => at.service.get(eve, name))).toMatchObject({ code: "not_found" });
    expect(await failing(() => at.service.remove(eve, name, { force: true }))).toMatchObject({ code: "not_found" });
    expect(await failing(() => at.service.tokenOf(eve, name))).toMatchObject({ code: "not_found" });
    expect(await failing(() => resolveMounts(at, eve, [{ name, path: "/mnt/x" }]))).toMatchObject({
      code: "invalid_request",
      message: `volumeMounts[0].name: there is no volume "${name}"`,
    });
  }
  expect(at.data.size).toBe(1);
});

test("what an admin made without a team is no tenant's", async () => {
  await using at = await VolumeScene.open();
  await at.service.make(admin, { name: "data", sizeMiB: 16 });
  expect([at.names(redTeam), at.names(eve), at.names(admin)]).toEqual([[], [], ["data"]]);
});

test("a user's volume is not another user's; the team's is used by all, and deleted by the team", async () => {
  await using at = await VolumeScene.open();
  await at.service.make(ann, { name: "own", sizeMiB: 16 });
  await at.service.make(redTeam, { name: "all", sizeMiB: 16 });
  expect([at.names(ann), at.names(bob), at.names(redTeam)]).toEqual([["all", "own"], ["all"], ["all", "own"]]);
  expect(await failing(() => at.service.remove(bob, "all", { force: false }))).toMatchObject({ code: "forbidden" });
  await at.service.remove(redTeam, "own", { force: false });
  expect(at.names(ann)).toEqual(["all"]);
});

test("a name is taken once, also by two requests at the same moment, and free again after a delete", async () => {
  await using at = await VolumeScene.open();
  const wish = { name: "data", sizeMiB: 16 };
  const both = await Promise.allSettled([at.service.make(redTeam, wish), at.service.make(redTeam, wish)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(at.data.size).toBe(1);
  await at.service.remove(redTeam, "data", { force: false });
  expect(at.data.size).toBe(0);
  await at.service.make(redTeam, wish);
});

test.each([
  [{ name: "", sizeMiB: 16 }, "name"],
  [{ name: "a/b", sizeMiB: 16 }, "name"],
  [{ name: "a".repeat(129), sizeMiB: 16 }, "name"],
  [{ name: "a", sizeMiB: 15 }, "sizeMiB"],
  [{ name: "a", sizeMiB: 16.5 }, "sizeMiB"],
  [{ name: "a", sizeMiB: 2_000_000 }, "sizeMiB"],
])("%j is refused", async (wish, field) => {
  await using at = await VolumeScene.open();
  expect(await failing(() => at.service.make(redTeam, wish))).toMatchObject({ code: "invalid_request", details: { field } });
});

test("a team has so many volumes, and so much in them, and what is being deleted counts until it is gone", async () => {
  await using at = await VolumeScene.open();
  await at.service.make(redTeam, { name: "a", sizeMiB: 90 });
  expect(await failing(() => at.service.make(redTeam, { name: "b", sizeMiB: 16 }))).toMatchObject({
    details: { limit: { name: "volumeMiB" } },
  });
  await at.service.remove(redTeam, "a", { force: false });
  for (const name of ["a", "b"]) await at.service.make(redTeam, { name, sizeMiB: 16 });
  expect(await failing(() => at.service.make(redTeam, { name: "c", sizeMiB: 16 }))).toMatchObject({
    details: { limit: { name: "volumes" } },
  });
  expect(await at.service.make(eve, { name: "c", sizeMiB: 16 })).toMatchObject({ phase: "Ready" });
});

test("a volume that is mounted is deleted only by force, and the answer names its sandboxes", async () => {
  await using at = await VolumeScene.open();
  await at.service.make(redTeam, { name: "data", sizeMiB: 16 });
  const [uid = ""] = at.data.keys();
  const text = volumeMountsText([{ uid, name: "data", path: "/mnt/data", readOnly: false }]);
  await at.scene.sandbox("sb1", { annotations: { [annotationKeys.volumeMounts]: text } });
  await settle();
  expect((await at.service.get(redTeam, "data")).mountedBy).toEqual(["sb1"]);
  expect(await failing(() => at.service.remove(redTeam, "data", { force: false }))).toMatchObject({
    code: "conflict",
    message: expect.stringContaining("sb1"),
  });
  expect(at.data.size).toBe(1);
  await at.service.remove(redTeam, "data", { force: true });
  expect([at.data.size, at.names(redTeam)]).toEqual([0, []]);
  expect(await failing(() => at.service.get(redTeam, "data"))).toMatchObject({ code: "not_found" });
});

test("one that is deleted by force counts, and keeps its name, until the last sandbox that has it mounted is gone: its files take room", async () => {
  await using at = await VolumeScene.open();
  await at.service.make(redTeam, { name: "data", sizeMiB: 90 });
  const [uid = ""] = at.data.keys();
  const text = volumeMountsText([{ uid, name: "data", path: "/mnt/data", readOnly: false }]);
  const pod = await at.scene.sandbox("sb1", { annotations: { [annotationKeys.volumeMounts]: text } });
  await settle();
  await at.service.remove(redTeam, "data", { force: true });
  const controller = at.controller();
  await at.scene.clock.step(30_000);
  const more = (name: string) => at.service.make(redTeam, { name, sizeMiB: 16 });
  expect(await failing(() => more("b"))).toMatchObject({ details: { limit: { name: "volumeMiB" } } });
  await at.scene.client.delete(Pods, keyOf(pod), { gracePeriodSeconds: 0 });
  await at.scene.clock.step(30_000);
  for (const name of ["data", "b"]) expect(await more(name)).toMatchObject({ phase: "Ready" });
  await controller.stop();
});

test("data that cannot be made leaves no volume", async () => {
  await using at = await VolumeScene.open();
  at.failure = new Error("no room");
  await expect(at.service.make(redTeam, { name: "data", sizeMiB: 16 })).rejects.toThrow("no room");
  expect([at.data.size, (await at.scene.client.list(SandboxVolumes)).items]).toEqual([0, []]);
  await at.service.make(redTeam, { name: "data", sizeMiB: 16 });
});

test("what a killed process left is finished by the loop: a volume without data gets it, one that is deleted gives it back", async () => {
  await using at = await VolumeScene.open();
  const metadata = { namespace, name: "vol-1", finalizers: [finalizers.volumeData] };
  await at.scene.client.create(SandboxVolumes, { metadata, spec: { name: "half", sizeMiB: 16 } });
  const controller = at.controller();
  await at.scene.clock.step(29_000);
  expect(at.data.size, "the request may still be at it").toBe(0);
  await at.scene.clock.step(20_000);
  expect(at.data.size).toBe(1);
  expect((await at.service.get(admin, "half")).phase).toBe("Ready");
  await at.scene.client.delete(SandboxVolumes, { namespace, name: "vol-1" });
  await at.scene.clock.step(1_000);
  expect([at.data.size, (await at.scene.client.list(SandboxVolumes)).items]).toEqual([0, []]);
  await controller.stop();
});

test("a volume that was applied gets its data at once, and keeps it while a sandbox has it mounted", async () => {
  await using at = await VolumeScene.open();
  const controller = at.controller();
  const { metadata } = await at.scene.client.create(SandboxVolumes, {
    metadata: { namespace, name: "mine" },
    spec: { name: "mine", sizeMiB: 16 },
  });
  await at.scene.clock.step(100);
  expect([...at.data.keys()]).toEqual([metadata.uid]);
  const text = volumeMountsText([{ uid: metadata.uid ?? "", name: "mine", path: "/mnt/data", readOnly: false }]);
  await at.scene.sandbox("sb1", { annotations: { [annotationKeys.volumeMounts]: text } });
  await settle();
  await at.scene.client.delete(SandboxVolumes, { namespace, name: "mine" });
  await at.scene.clock.step(60_000);
  expect(at.data.size).toBe(1);
  await controller.stop();
});

test("an engine without volumes says so to every request, and on every object", async () => {
  await using at = await VolumeScene.open();
  const abilities = { volumes: () => unable("not here") };
  const service = volumeService({ ...at.deps, abilities, volumes: undefined, engine: undefined });
  expect(await failing(() => service.make(admin, { name: "a" }))).toMatchObject({ code: "not_implemented", message: "not here" });
  expect(await failing(() => resolveMounts({ abilities }, admin, [{ name: "a", path: "/a" }]))).toMatchObject({ code: "not_implemented" });
  expect(resolveMounts({ abilities }, admin, [])).toEqual([]);
  const metrics = prometheusMetrics(new Registry());
  const controller = startVolumeController({ ...at.deps, engine: undefined, abilities, clock: at.scene.clock, log: at.scene.log, metrics });
  await at.scene.client.create(SandboxVolumes, { metadata: { namespace, name: "v" }, spec: { name: "v", sizeMiB: 16 } });
  await at.scene.clock.step(100);
  expect((await at.scene.client.get(SandboxVolumes, { namespace, name: "v" })).status).toEqual({
    phase: "Failed",
    message: "NotImplemented: not here",
  });
  await controller.stop();
});

test("all that is wrong with mounts is one answer; what is right is the volume itself", async () => {
  await using at = await VolumeScene.open();
  await at.service.make(redTeam, { name: "data", sizeMiB: 16 });
  const wrong = [
    { name: "data", path: "/mnt/a" },
    { name: "data", path: "/mnt/a/b" },
    { name: "nope", path: "/mnt/c" },
    { name: "data", path: "/proc" },
  ];
  const { message } = await failing(() => resolveMounts(at, redTeam, wrong));
  expect(message.split("; ")).toEqual([
    expect.stringContaining("volumeMounts[1].path"),
    expect.stringContaining("volumeMounts[2].name"),
    expect.stringContaining("volumeMounts[3].path"),
  ]);
  const many = Array.from({ length: 17 }, (_, index) => ({ name: "data", path: `/mnt/${index}` }));
  expect((await failing(() => resolveMounts(at, redTeam, many))).message).toContain("there may be 16");
  const [uid = ""] = at.data.keys();
  expect(resolveMounts(at, redTeam, [{ name: "data", path: "/mnt/a/", readOnly: true }])).toEqual([
    { uid, name: "data", path: "/mnt/a", readOnly: true },
  ]);
});

test("the token of a volume opens this one, until it is deleted", async () => {
  await using at = await VolumeScene.open();
  const [one, other] = [
    await at.service.make(redTeam, { name: "a", sizeMiB: 16 }),
    await at.service.make(redTeam, { name: "b", sizeMiB: 16 }),
  ];
  const token = at.service.tokenOf(redTeam, "a");
  expect(openVolume(at.deps, one.id, token)?.caller).toEqual({ role: "tenant", team: "red", keyId: `volume ${one.id}` });
  for (const [id, given] of [
    [other.id, token],
    [one.id, ""],
    [one.id, token.replace(/.$/, "x")],
    ["nope", token],
    ["nope", at.deps.tokenOf("")],
  ] as const) {
    expect(openVolume(at.deps, id, given)).toBeUndefined();
  }
  await at.service.remove(redTeam, "a", { force: false });
  expect(openVolume(at.deps, one.id, token)).toBeUndefined();
});

test("an upload that brings nothing for a minute is given up", async () => {
  await using at = await VolumeScene.open();
  const { id } = await at.service.make(redTeam, { name: "a", sizeMiB: 16 });
  const got: string[] = [];
  const files = {
    write: async (_uid: string, _path: string, content: AsyncIterable<Uint8Array>) => {
      for await (const chunk of content) got.push(Buffer.from(chunk).toString());
    },
  } as never;
  const opened = openVolume({ ...at.deps, engine: { files } }, id, at.service.tokenOf(redTeam, "a"));
  const silent = Promise.withResolvers<never>();
  async function* upload(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("first");
    await sleep(at.scene.clock, 50_000);
    yield Buffer.from("second");
    await silent.promise;
  }
  const failed = failing(() => opened?.files.write("/f", upload(), { replace: true }));
  await at.scene.clock.step(50_000);
  await at.scene.clock.step(61_000);
  expect(await failed).toMatchObject({ code: "timeout" });
  expect(got).toEqual(["first", "second"]);
});
