/** Checkpoints of a cluster, with a registry on loopback, pods in a store, and a node whose answers a test gives. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckpointImages, CheckpointOrder } from "#engine-port/checkpoint-images.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { systemClock } from "#lib/clock.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys, podConditions } from "#model/keys.ts";
import { type LayerAnswer, layerCondition, layerWish } from "#model/layer-wish.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { FakeRegistry, loopbackRegistries } from "../../../../test/world/fake-registry.ts";
import { imageOf } from "../../../../test/world/image-fixture.ts";
import { layerOf } from "../../../../test/world/layer-archive.ts";
import { aContainerStatus, pinned } from "../../../../test/world/pool-pods.ts";
import { storedPods } from "../../../../test/world/stored-pods.ts";
import { recordedLog } from "../../../../test/world/recorded-log.ts";
import { checkpointRepository } from "./checkpoint-repository.ts";
import { clusterCheckpoints } from "./cluster-checkpoints.ts";

const id = "cp-aaaaaaaaaaaaaaaaaaaa";
const layer = layerOf([{ name: "changed" }], "none");
const pushed = { digest: layer.digest, size: layer.blob.length, frozenMs: 4, architecture: process.arch === "arm64" ? "arm64" : "amd64" };
const key = { namespace: "ns", name: "pod" };
const { signal } = new AbortController();

let store: ObjectStore;
let registry: FakeRegistry;
let client: RegistryClient;
let checkpoints: CheckpointImages;
let base: string;
let room: { used: number; most: number };
let node: AsyncDisposable;
/** What the node answers to a wish; a layer that it has answered is in the registry. */
let answer: (wish: { readonly id: string; readonly containerId: string }) => LayerAnswer | undefined;
let wishes: string[];

beforeEach(async () => {
  store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: systemClock });
  registry = await FakeRegistry.start();
  client = new RegistryClient({ clock: systemClock, random: () => 0.5, settings: loopbackRegistries });
  base = `${registry.host}/app@${registry.add("app", "1", imageOf([[{ name: "a" }]]))}`;
  [room, answer, wishes] = [{ used: 0, most: 1 << 20 }, () => pushed, []];
  checkpoints = clusterCheckpoints({
    pods: storedPods(() => store),
    clock: systemClock,
    log: recordedLog().log,
    registry: { client, clock: systemClock, random: () => 0.5 },
    repository: checkpointRepository(`${registry.host}/platform/checkpoints`),
    pullSecretsOf: async () => [],
    room: () => room,
  });
  await store.create(Namespaces, { metadata: { name: "ns" } });
  await run();
  node = answering();
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  store.close();
});

async function run(more: Partial<Pod["spec"]> = {}): Promise<void> {
  const labels = { [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: "i-1", [labelKeys.sandboxPool]: "py" };
  await store.create(Pods, {
    metadata: { ...key, labels },
    spec: { nodeName: "here", containers: [{ name: "main", image: pinned("app") }], ...more },
  });
  const containerStatuses = [aContainerStatus("main", pinned("app"), { containerID: "containerd://c1" })];
  await setStatus({ containerStatuses } as unknown as JsonObject);
}

async function setStatus(status: JsonObject): Promise<void> {
  await store.patch(Pods, key, { type: "merge", body: { status } }, { subresource: "status" });
}

/** A node's agent, as far as the wish on the pod goes. */
function answering(): AsyncDisposable {
  const end = new AbortController();
  const running = (async () => {
    for await (const event of store.watch(Pods, { namespace: "ns", signal: end.signal })) {
      const wish = event.type === "ADDED" || event.type === "MODIFIED" ? layerWish(event.object) : undefined;
      const text = wish && JSON.stringify(wish);
      if (wish === undefined || text === undefined || wishes.at(-1) === text) continue;
      wishes.push(text);
      const given = answer(wish);
      if (given === undefined) continue;
      registry.addBlob(`platform/checkpoints/${wish.id}`, layer.digest, layer.blob);
      await setStatus({ conditions: [{ type: podConditions.layer, ...layerCondition(wish, given) }] });
    }
  })();
  running.catch(() => {});
  return {
    [Symbol.asyncDispose]: async () => {
      end.abort(new Error("over"));
      await running.catch(() => {});
    },
  };
}

async function order(more: Partial<CheckpointOrder> = {}): Promise<CheckpointOrder> {
  const { metadata } = await store.get(Pods, key);
  return { id, pod: { uid: metadata.uid ?? "", ...key }, container: "main", baseImage: base, team: "red", ...more };
}

async function wishOnPod(): Promise<string | undefined> {
  return (await store.get(Pods, key)).metadata.annotations?.[annotationKeys.layerWish];
}

test("the node is asked for the layer of the container that runs now, and the image is in the repository of the checkpoint", async () => {
  const taken = await checkpoints.take(await order(), signal);
  const image = expect.stringMatching(new RegExp(`^${registry.host}/platform/checkpoints/${id}@sha256:[0-9a-f]{64}$`));
  expect(taken).toEqual({ image, sizeBytes: layer.blob.length, frozenMs: 4 });
  expect(wishes).toEqual([JSON.stringify({ id, containerId: "c1" })]);
  expect(await wishOnPod(), "nothing of it is left on the pod").toBeUndefined();
});

test("K2: what was carried out already is answered with the image that is there, and no sandbox stands still for it", async () => {
  const first = await checkpoints.take(await order(), signal);
  expect(await checkpoints.take(await order(), signal)).toEqual({ ...first, frozenMs: 0 });
  expect(wishes).toHaveLength(1);
});

test("two of one sandbox are taken one after the other", async () => {
  const other = "cp-bbbbbbbbbbbbbbbbbbbb";
  const orders = [await order(), await order({ id: other })];
  const taken = await Promise.all(orders.map((one) => checkpoints.take(one, signal)));
  expect(taken.map(({ image }) => /cp-[a-b]+/.exec(image)?.[0])).toEqual([id, other]);
  expect(wishes).toHaveLength(2);
});

test("what the node refuses is told in its words, and there is no image", async () => {
  answer = () => ({ reason: "TooLarge", why: "the files are of more than 10 bytes" });
  await expect(checkpoints.take(await order(), signal)).rejects.toMatchObject({
    reason: "TooLarge",
    message: "the files are of more than 10 bytes",
  });
  expect(await wishOnPod()).toBeUndefined();
  expect(registry.requests.filter(({ method, path }) => method === "PUT" && path.includes("manifests"))).toEqual([]);
});

test.each([
  [
    "stops",
    (): Promise<unknown> =>
      store.patch(Pods, key, { type: "merge", body: { metadata: { labels: { [labelKeys.sandboxPhase]: "stopping" } } } }),
  ],
  ["is deleted", (): Promise<unknown> => store.delete(Pods, key, { gracePeriodSeconds: 0 })],
])("a sandbox that %s meanwhile is told to be gone", async (_, happens) => {
  answer = () => undefined;
  const taking = checkpoints.take(await order(), signal);
  await Promise.all([
    expect(taking).rejects.toMatchObject({ reason: "SandboxGone" }),
    (async () => {
      await expect.poll(() => wishes.length).toBe(1);
      await happens();
    })(),
  ]);
});

test("another pod of the same name, and a container that does not run, are not the sandbox", async () => {
  const wanted = await order();
  await expect(checkpoints.take({ ...wanted, pod: { ...wanted.pod, uid: "another" } }, signal)).rejects.toMatchObject({
    reason: "SandboxGone",
  });
  await expect(checkpoints.take({ ...wanted, container: "other" }, signal)).rejects.toMatchObject({ reason: "SandboxGone" });
  expect(wishes).toEqual([]);
});

test("a pod with users of its own is refused with the reason, before anything stands still", async () => {
  await store.delete(Pods, key, { gracePeriodSeconds: 0 });
  await run({ hostUsers: false });
  await expect(checkpoints.take(await order(), signal)).rejects.toMatchObject({
    reason: "NotPossible",
    message: expect.stringContaining("hostUsers"),
  });
  expect(wishes).toEqual([]);
});

test("a team without room is refused before, and one whose room the layer exceeds afterwards; of no team nothing is counted", async () => {
  room = { used: 100, most: 100 };
  await expect(checkpoints.take(await order(), signal)).rejects.toMatchObject({ reason: "LimitReached" });
  expect(wishes).toEqual([]);
  room = { used: 100, most: 101 };
  await expect(checkpoints.take(await order(), signal)).rejects.toMatchObject({
    reason: "LimitReached",
    message: expect.stringContaining("imageMiB"),
  });
  await expect(checkpoints.take(await order({ team: undefined }), signal)).resolves.toMatchObject({ frozenMs: 4 });
});

test("a caller that goes away takes the wish with it", async () => {
  answer = () => undefined;
  const caller = new AbortController();
  const taking = checkpoints.take(await order(), caller.signal);
  taking.catch(() => {});
  await expect.poll(() => wishes.length).toBe(1);
  caller.abort(new Error("the process ends"));
  await expect(taking).rejects.toThrow("the process ends");
  expect(await wishOnPod()).toBeUndefined();
});

test("a removed image is gone, and to remove it again is a success", async () => {
  const { image } = await checkpoints.take(await order(), signal);
  await checkpoints.remove(id);
  await checkpoints.remove(id);
  const reference = { kind: "registry" as const, registry: registry.host, repository: `platform/checkpoints/${id}` };
  await expect(client.open(reference).manifest(image.slice(image.indexOf("@") + 1))).rejects.toMatchObject({ code: "not_found" });
});

test.each([
  "registry.example.com/a:1",
  `registry.example.com/a@sha256:${"a".repeat(64)}`,
  "a",
  "https://registry.example.com/a",
  "host",
  "",
])("%j is no repository for checkpoints", (name) => {
  expect(() => checkpointRepository(name)).toThrow(/registry.example.com|not an image reference/);
});

test("credentials are read anew for each checkpoint, and a file that is not there is told without its place", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-credentials-"));
  const file = join(folder, "config.json");
  const repository = checkpointRepository("registry.example.com/a", file);
  try {
    await expect(repository.secrets()).rejects.toMatchObject({ code: "invalid_config", message: expect.not.stringContaining(folder) });
    await writeFile(file, "one");
    expect(await repository.secrets()).toEqual(["one"]);
    await writeFile(file, "two");
    expect(await repository.secrets()).toEqual(["two"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
