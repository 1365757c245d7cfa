import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRegistry, loopbackRegistries, pullSecret } from "../../../test/world/fake-registry.ts";
import { imageOf } from "../../../test/world/image-fixture.ts";
import { layerOf } from "../../../test/world/layer-archive.ts";
import { baseLabel } from "#model/checkpoint-image.ts";
import { systemClock } from "#lib/clock.ts";
import { parseConfig } from "../image-config.ts";
import { machinePlatform } from "../platform.ts";
import type { RegistryReference } from "../reference.ts";
import { RegistryClient } from "../registry/client.ts";
import { type CheckpointToPublish, findPublished, publishCheckpoint, unpublishCheckpoint } from "./publish-checkpoint.ts";

const id = "cp-aaaaaaaaaaaaaaaaaaaa";
const top = layerOf([{ name: "changed", content: "by the sandbox" }], "none");
const users = { robot: "secret" };

let home: FakeRegistry;
let client: RegistryClient;

beforeEach(async () => {
  home = await FakeRegistry.start({ users });
  client = new RegistryClient({ clock: systemClock, random: () => 0.5, settings: loopbackRegistries });
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

const deps = () => ({ client, clock: systemClock, random: () => 0.5 });
const secrets = () => [pullSecret({ [home.host]: ["robot", "secret"] })];

function reference(of = id): RegistryReference {
  return { kind: "registry", registry: home.host, repository: `team/checkpoints/${of}` };
}

/** With the layer that the node's agent has pushed. */
async function wanted(base: string, more: Partial<CheckpointToPublish> = {}): Promise<CheckpointToPublish> {
  const target = { reference: reference(), secrets: secrets(), ...more };
  const size = top.blob.length;
  const described = { mediaType: top.mediaType, digest: top.digest, size };
  await client.openForPush(target.reference, target.secrets).putBlob(described, async function* () {
    yield await Promise.resolve(top.blob);
  });
  return { ...target, base, baseSecrets: secrets(), platform: machinePlatform(), layer: { digest: top.digest, size }, ...more };
}

async function pulled(image: string) {
  const digest = image.slice(image.indexOf("@") + 1);
  const repository = client.open(reference(/cp-[a-z0-9]{20}/.exec(image)?.[0]), secrets());
  const { content } = await repository.manifest(digest);
  const manifest = JSON.parse(content.toString()) as {
    config: { digest: `sha256:${string}` };
    layers: { digest: string; mediaType: string }[];
  };
  const parts: Buffer[] = [];
  for await (const part of (await repository.blob(manifest.config.digest, 0)).content) parts.push(part);
  return { manifest, config: parseConfig(Buffer.concat(parts), "it") };
}

test("the image has the layers of the base and one more, starts as the base unless told otherwise, and says what it stands on", async () => {
  const below = imageOf([[{ name: "etc/a" }], [{ name: "etc/b" }]], { config: { cmd: ["/bin/serve"], env: ["A=1", "B=2"] } });
  const digest = home.add("team/app", "1", below);
  const base = `${home.host}/team/app:1-use-7@${digest}`;
  const made = await publishCheckpoint(deps(), await wanted(base, { config: { env: { B: "3" }, user: "1000" } }));
  expect(made).toEqual({ image: expect.stringContaining(`${home.host}/team/checkpoints/${id}@sha256:`), bytes: top.blob.length });
  const { manifest, config } = await pulled(made.image);
  expect(manifest.layers.map((layer) => layer.digest)).toEqual([...below.layers.map((layer) => layer.digest), top.digest]);
  expect(config.diffIds).toEqual([...below.layers.map(({ diffId }) => diffId), top.diffId]);
  expect(config.config).toMatchObject({ cmd: ["/bin/serve"], env: ["A=1", "B=3"], user: "1000" });
  expect(config.config.labels[baseLabel]).toBe(`${home.host}/team/app@${digest}`);
  expect(await findPublished(deps(), { reference: reference(), secrets: secrets() })).toEqual(made);
});

test("layers of a base in the same registry are not sent, those of another one are, and it does not see our credentials", async () => {
  const near = home.add("team/app", "1", imageOf([[{ name: "a", content: "near" }]]));
  await publishCheckpoint(deps(), await wanted(`${home.host}/team/app@${near}`));
  const uploads = (): number => home.requests.filter(({ method, path }) => method === "PUT" && path.includes("/blobs/")).length;
  // The layer of the sandbox and the config.
  expect(uploads()).toBe(2);
  await using other = await FakeRegistry.start();
  const far = other.add("app", "1", imageOf([[{ name: "b", content: "far" }]]));
  const there = { reference: reference("cp-bbbbbbbbbbbbbbbbbbbb") };
  await publishCheckpoint(deps(), await wanted(`${other.host}/app@${far}`, there));
  expect(uploads()).toBe(5);
  expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
});

test("of a checkpoint of a checkpoint it is the lowest base that counts, and a stranger's image cannot pass for one", async () => {
  const digest = home.add("team/app", "1", imageOf([[{ name: "a" }]]));
  const first = await publishCheckpoint(deps(), await wanted(`${home.host}/team/app@${digest}`));
  const second = await publishCheckpoint(deps(), await wanted(first.image, { reference: reference("cp-bbbbbbbbbbbbbbbbbbbb") }));
  const { manifest, config } = await pulled(second.image);
  expect(manifest.layers).toHaveLength(3);
  expect(config.config.labels[baseLabel]).toBe(`${home.host}/team/app@${digest}`);
  const forged = home.add(`elsewhere/${id}`, "1", imageOf([[{ name: "x" }]], { config: { labels: { [baseLabel]: "host" } } }));
  const third = await wanted(`${home.host}/elsewhere/${id}@${forged}`, { reference: reference("cp-cccccccccccccccccccc") });
  await expect(publishCheckpoint(deps(), third)).rejects.toThrow("which only checkpoints of host may have");
});

test("a registry that refuses leaves no image, and the next try finds what is there", async () => {
  const digest = home.add("team/app", "1", imageOf([[{ name: "a" }]]));
  const order = await wanted(`${home.host}/team/app@${digest}`);
  home.fault = ({ method, path }) => (method === "PUT" && path.includes("/manifests/") ? { status: 403 } : undefined);
  await expect(publishCheckpoint(deps(), order)).rejects.toMatchObject({ code: "unauthorized" });
  expect(await findPublished(deps(), order)).toBeUndefined();
  home.fault = () => undefined;
  expect(await publishCheckpoint(deps(), order)).toEqual(await findPublished(deps(), order));
});

test("a removed one is gone, to remove it again is a success, and a registry that removes nothing is told", async () => {
  const digest = home.add("team/app", "1", imageOf([[{ name: "a" }]]));
  const order = await wanted(`${home.host}/team/app@${digest}`);
  await publishCheckpoint(deps(), order);
  home.fault = ({ method }) => (method === "DELETE" ? { status: 405 } : undefined);
  expect(await unpublishCheckpoint(deps(), order)).toBe(false);
  home.fault = () => undefined;
  expect(await unpublishCheckpoint(deps(), order)).toBe(true);
  expect(await findPublished(deps(), order)).toBeUndefined();
  expect(await unpublishCheckpoint(deps(), order)).toBe(true);
});
