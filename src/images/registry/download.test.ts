import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Fault, FakeRegistry, type FakeRegistryOptions, loopbackRegistries } from "../../../test/world/fake-registry.ts";
import { patiently } from "../../../test/world/patiently.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { BlobWriter } from "../content-store/blob-writer.ts";
import { digestOf } from "../digest.ts";
import { mediaTypes } from "../manifest.ts";
import { parseReference, type RegistryReference } from "../reference.ts";
import { RegistryClient } from "./client.ts";
import { downloadBlob } from "./download.ts";

const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 251));
const digest = digestOf(content);
const descriptor = { mediaType: mediaTypes.layerTar, digest, size: content.length };

let folder: string;
const registries: FakeRegistry[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-download-"));
});
afterEach(async () => {
  for (const registry of registries.splice(0)) await registry[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function registryWith(options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
  const registry = await FakeRegistry.start(options);
  registry.addBlob("app", digest, content);
  registries.push(registry);
  return registry;
}

/** Downloads and returns what got its place; undefined if nothing did. */
async function download(registry: FakeRegistry, mirrors: readonly FakeRegistry[] = [], told: number[] = []): Promise<Buffer | undefined> {
  const clock = new SteppedClock();
  const settings = { mirrors: { [registry.host]: mirrors.map(({ host }) => host) } };
  await using client = new RegistryClient({ clock, random: () => 0.5, settings: { ...loopbackRegistries, ...settings } });
  const repository = client.open(parseReference(`${registry.host}/app:1`) as RegistryReference);
  let placed: Buffer | undefined;
  await using writer = await BlobWriter.open(join(folder, "draft"), (path) => {
    placed = readFileSync(path);
    return Promise.resolve();
  });
  const options = { onBytes: (bytes: number) => told.push(bytes) };
  await patiently(clock, downloadBlob({ clock, random: () => 0.5 }, { repository, descriptor, writer }, options));
  return placed;
}

/** One fault after the other, then none. */
function faults(...list: Fault[]): () => Fault | undefined {
  return () => list.shift();
}

test("a blob comes whole, and progress is told", async () => {
  const told: number[] = [];
  expect(await download(await registryWith(), [], told)).toEqual(content);
  expect(told.at(-1)).toBe(content.length);
  expect(told).toEqual([...told].sort((a, b) => a - b));
});

describe("a connection that breaks", () => {
  test("is taken up where it broke, as often as something came", async () => {
    const registry = await registryWith();
    registry.fault = faults(...Array.from({ length: 9 }, () => ({ cutAfter: 20_000 })));
    expect(await download(registry)).toEqual(content);
    expect(registry.requests.length).toBe(10);
    expect(registry.requests[0]?.range).toBeUndefined();
    const starts = registry.requests.slice(1).map(({ range }) => Number(/bytes=(\d+)-/.exec(range ?? "")?.[1]));
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(starts[0]).toBeGreaterThan(0);
  });

  test("is begun again with a registry that cannot begin in the middle", async () => {
    const registry = await registryWith({ ignoresRanges: true });
    registry.fault = faults({ cutAfter: 100_000 }, { cutAfter: 150_000 });
    expect(await download(registry)).toEqual(content);
  });

  test("is given up when nothing comes any more", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ cutAfter: 0 });
    await expect(download(registry)).rejects.toMatchObject({ code: "unreachable" });
    expect(registry.requests.length).toBe(6);
  });

  test("in a blob that ends too early is a break too", async () => {
    const registry = await registryWith();
    registry.fault = faults({ body: content.subarray(0, 1000) });
    expect(await download(registry)).toEqual(content);
  });

  test("with an answer for another place is refused", async () => {
    const registry = await registryWith();
    registry.fault = faults({ cutAfter: 50_000 }, { headers: { "content-range": "bytes 299999-299999/300000" } });
    await expect(download(registry)).rejects.toMatchObject({ code: "registry_protocol" });
  });
});

describe("content that is not what it should be", () => {
  const tampered = Buffer.from(content);
  tampered[150_000] = (tampered[150_000] ?? 0) ^ 1;

  test("gets no place", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ body: tampered });
    await expect(download(registry)).rejects.toMatchObject({ code: "digest_mismatch" });
    expect(registry.requests.length).toBe(1);
  });

  test("is not read beyond its promised size", async () => {
    const registry = await registryWith();
    registry.fault = () => ({ body: Buffer.concat([content, content]) });
    await expect(download(registry)).rejects.toThrow(/more than the promised 300000 bytes/);
  });

  test("of a mirror is fetched from the registry instead", async () => {
    const [mirror, registry] = [await registryWith(), await registryWith()];
    mirror.fault = () => ({ body: tampered });
    expect(await download(registry, [mirror])).toEqual(content);
    expect([mirror.requests.length, registry.requests.length]).toEqual([1, 1]);
  });
});
