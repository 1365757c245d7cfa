import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { counts, useImageBench } from "../../../test/world/image-bench.ts";
import { type ImageFixture, imageOf } from "../../../test/world/image-fixture.ts";
import { layerOf } from "../../../test/world/layer-archive.ts";
import { asRoot } from "../../../test/world/layer-folder.ts";
import { patiently } from "../../../test/world/patiently.ts";
import { digestOf } from "../digest.ts";
import { parsePlatform } from "../platform.ts";
import type { ResolvedImage } from "../resolved-image.ts";

const bench = useImageBench();
const base = layerOf([{ name: "base", content: "b".repeat(1000) }]);
const named = (content: string): ImageFixture => imageOf([base, [{ name: "app", content }]]);
const minute = 60_000;

/** Pulls `app:TAG`; each a minute after the one before. */
async function have(tag: string, image: ImageFixture = named(tag)): Promise<ResolvedImage> {
  bench.registry.add("app", tag, image);
  await bench.clock.step(minute);
  const ready = await patiently(bench.clock, bench.store.ensure(name(tag), { pullPolicy: "IfNotPresent" }));
  // A second look, because what is pulled counts as used when it came by the machine's clock.
  return patiently(
    bench.clock,
    bench.store.ensure(name(tag), { pullPolicy: "Never" }).then(() => ready),
  );
}

function name(tag: string): string {
  return `${bench.registry.host}/app:${tag}`;
}

async function left(): Promise<string[]> {
  return (await bench.store.list()).map((image) => image.name.slice(bench.registry.host.length));
}

describe.skipIf(!asRoot)("garbage collection", () => {
  test("takes away everything that nobody uses", async () => {
    await have("1");
    await have("2");
    const collected = await bench.store.gc();
    expect(collected.images).toEqual([name("1"), name("2")]);
    expect(collected.keptBytes).toBe(0);
    expect(collected.freedBytes).toBeGreaterThan(3 * 2000);
    expect(counts(bench)).toEqual({ blobs: 0, layers: 0, names: 0 });
    expect(readdirSync(join(bench.folder, "images/tmp"), { recursive: true }).length).toBe(3);
  });

  test("keeps what is in use, by digest or by id, with what it shares", async () => {
    const [first, second, third] = [await have("1"), await have("2"), await have("3")];
    await bench.store.gc({ inUse: new Set([first.digest, second.id]) });
    expect(await left()).toEqual(["/app:1", "/app:2"]);
    for (const layer of [...first.layers, ...second.layers])
      expect(existsSync(join(layer, layer === first.layers[1] ? "base" : "app"))).toBe(true);
    expect(existsSync(third.layers[0] ?? "")).toBe(false);
    // And they can still be mounted without asking a registry.
    const again = await bench.store.ensure(name("1"), { pullPolicy: "Never" });
    expect(again).toEqual(first);
  });

  test("keeps what others hold, also when they are not running", async () => {
    const first = await have("1");
    await bench.store.hold("node", [first.digest]);
    const other = await bench.open();
    await other.gc();
    expect(existsSync(first.layers[0] ?? "")).toBe(true);
    await bench.store.hold("node", []);
    await other.gc();
    expect(existsSync(first.layers[0] ?? "")).toBe(false);
  });

  test("keeps the content of an image in use whose tag has moved on and whose name is gone", async () => {
    const old = await have("1");
    bench.registry.add("app", "1", named("new"));
    await patiently(bench.clock, bench.store.ensure(name("1"), { pullPolicy: "Always" }));
    await bench.store.hold("node", [old.id]);
    await bench.store.remove(`${bench.registry.host}/app@${old.digest}`);
    await bench.store.gc();
    expect(old.layers.map((layer) => existsSync(layer))).toEqual([true, true]);
    await bench.store.hold("node", []);
    await bench.store.gc();
    expect(old.layers.map((layer) => existsSync(layer))).toEqual([false, false]);
  });

  test("keeps the content of an image that is held by the digest of its manifest or index", async () => {
    const foreign = imageOf([[{ name: "y" }]], { platform: parsePlatform("linux/s390x") });
    bench.registry.add("app", "multi", named("x"), foreign);
    const image = await patiently(bench.clock, bench.store.ensure(name("multi"), { pullPolicy: "Always" }));
    for (const held of [image.digest, named("x").digest]) {
      await bench.store.hold("node", [image.digest]);
      await bench.store.gc();
      expect(await left()).toEqual(["/app:multi"]);
      await bench.store.hold("node", [held]);
      await bench.store.remove(name("multi"));
      expect(image.layers.map((layer) => existsSync(layer))).toEqual([true, true]);
      await patiently(bench.clock, bench.store.ensure(name("multi"), { pullPolicy: "Always" }));
    }
  });

  test("takes the longest unused first, until the rest fits", async () => {
    const first = await have("1");
    await have("2");
    await have("3");
    await bench.clock.step(minute);
    await bench.store.ensure(name("1"), { pullPolicy: "Never" });
    const all = (await bench.store.gc({ keepBytes: Number.MAX_SAFE_INTEGER })).keptBytes;
    expect(await left()).toEqual(["/app:1", "/app:2", "/app:3"]);
    await bench.store.gc({ keepBytes: all - 1 });
    expect(await left()).toEqual(["/app:1", "/app:3"]);
    await bench.store.gc({ keepBytes: 1, inUse: new Set([first.digest]) });
    expect(await left()).toEqual(["/app:1"]);
  });

  test("keeps what was used lately", async () => {
    await have("1");
    await bench.clock.step(10 * minute);
    const since = bench.clock.now();
    await have("2");
    await bench.store.gc({ keepNewerThan: since });
    expect(await left()).toEqual(["/app:2"]);
  });

  test("never takes what was imported, because nobody could fetch it again", async () => {
    const archive = join(bench.folder, "root");
    mkdirSync(archive);
    writeFileSync(join(archive, "file"), "x");
    const config = { env: [], entrypoint: [], cmd: [], user: "", workingDir: "", labels: {} };
    await bench.store.importRootfs(archive, { name: "mine:1", config });
    await bench.store.gc({ keepBytes: 0 });
    expect((await bench.store.list()).map((image) => image.name)).toEqual(["docker.io/library/mine:1"]);
    // Its compressed layer stays too.
    expect(counts(bench)).toEqual({ blobs: 3, layers: 1, names: 1 });
    await bench.store.remove("mine:1");
    expect(counts(bench)).toEqual({ blobs: 0, layers: 0, names: 0 });
  });

  test("drops compressed layers that are unpacked, and leftovers of pulls that failed", async () => {
    const first = await have("1");
    bench.registry.add("app", "2", named("2"));
    bench.registry.fault = ({ path }) => (path.includes("/blobs/") ? { status: 404 } : undefined);
    await expect(bench.store.ensure(name("2"), { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "not_found" });
    await bench.store.gc({ inUse: new Set([first.digest]) });
    expect(counts(bench)).toEqual({ blobs: 2, layers: 2, names: 1 });
    expect((await bench.store.ensure(name("1"), { pullPolicy: "Never" })).id).toBe(first.id);
  });

  test("waits for pulls that are under way", async () => {
    bench.registry.add("app", "1", named("1"));
    const collecting: Promise<unknown>[] = [];
    await patiently(
      bench.clock,
      bench.store.ensure(name("1"), {
        pullPolicy: "Always",
        onProgress: ({ state }) => {
          if (state === "done" && collecting.length === 0) collecting.push(bench.store.gc({ keepNewerThan: 0 }));
        },
      }),
    );
    await patiently(bench.clock, Promise.all(collecting));
    expect(await left()).toEqual(["/app:1"]);
  });
});

describe.skipIf(!asRoot)("removing an image", () => {
  test("takes its name and what nothing else uses", async () => {
    const first = await have("1");
    await have("2");
    const removed = await bench.store.remove(name("1"));
    expect(removed.images).toEqual([name("1")]);
    expect(removed.freedBytes).toBeGreaterThan(0);
    expect([existsSync(first.layers[0] ?? ""), existsSync(first.layers[1] ?? "")]).toEqual([false, true]);
  });

  test("leaves the content to those who hold it", async () => {
    const first = await have("1");
    await bench.store.hold("node", [first.id]);
    await bench.store.remove(name("1"));
    expect(await left()).toEqual([]);
    expect(first.layers.map((layer) => existsSync(layer))).toEqual([true, true]);
  });

  test("that is not here fails", async () => {
    await expect(bench.store.remove("app:9")).rejects.toMatchObject({ code: "not_present" });
    await expect(bench.store.remove(`app@${digestOf("x")}`)).rejects.toThrow(/is not on this machine/);
  });
});
