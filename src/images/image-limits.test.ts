/** Images that want too much of the disk. */
import { readdirSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { counts, useImageBench } from "../../test/world/image-bench.ts";
import { imageOf } from "../../test/world/image-fixture.ts";
import { layerOf } from "../../test/world/layer-archive.ts";
import { asRoot } from "../../test/world/layer-folder.ts";
import { patiently } from "../../test/world/patiently.ts";
import { defaultLimits, type LayerLimits } from "./layer/limits.ts";
import type { ResolvedImage } from "./resolved-image.ts";

const bench = useImageBench();
const mib = 1024 ** 2;

async function ensure(limits: Partial<LayerLimits> = {}): Promise<ResolvedImage> {
  const store = await bench.open({ limits: { ...defaultLimits, ...limits } });
  return patiently(bench.clock, store.ensure(`${bench.registry.host}/app:1`, { pullPolicy: "IfNotPresent" }));
}

describe.skipIf(!asRoot)("an image", () => {
  // Each is harmless by itself.
  const zeros = (name: string): ReturnType<typeof layerOf> => layerOf([{ name, content: Buffer.alloc(2 * mib) }]);

  test("of many layers that each unpack to little more than is allowed is refused as a whole", async () => {
    bench.registry.add("app", "1", imageOf([zeros("a"), zeros("b"), zeros("c"), zeros("d"), zeros("e")]));
    await expect(ensure({ ratioFromBytes: 5 * mib })).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringMatching(/allowed for its size \(AGENTBOX_IMAGE_MAX_BYTES, AGENTBOX_IMAGE_MAX_RATIO\)/) as string,
    });
    expect(counts(bench)).toMatchObject({ layers: 2, names: 0 });
    expect((await ensure()).layers.length).toBe(5);
  });

  test("counts the layers that are here already", async () => {
    const [a, b] = [zeros("a"), zeros("b")];
    bench.registry.add("app", "1", imageOf([a]));
    await ensure({ maxBytes: 3 * mib });
    bench.registry.add("app", "1", imageOf([a, b]));
    const store = await bench.open({ limits: { ...defaultLimits, maxBytes: 3 * mib } });
    const again = patiently(bench.clock, store.ensure(`${bench.registry.host}/app:1`, { pullPolicy: "Always" }));
    await expect(again).rejects.toMatchObject({ code: "too_large" });
  });

  test("of too many files in all its layers is refused", async () => {
    const files = (prefix: string): { name: string }[] => Array.from({ length: 6 }, (_, index) => ({ name: `${prefix}${index}` }));
    bench.registry.add("app", "1", imageOf([files("a"), files("b")]));
    await expect(ensure({ maxEntries: 10 })).rejects.toMatchObject({ code: "too_large" });
  });

  test("whose layers are larger than allowed is refused before one is fetched", async () => {
    const big = (name: string): ReturnType<typeof layerOf> => layerOf([{ name, content: Buffer.alloc(3000) }], "none");
    bench.registry.add("app", "1", imageOf([big("a"), big("b")]));
    await expect(ensure({ maxBytes: 8000 })).rejects.toThrow(/bytes; 8000 are allowed \(AGENTBOX_IMAGE_MAX_BYTES\)/);
    expect(bench.registry.asked.filter((path) => path.includes("blobs/")).length).toBe(1);
  });

  test("is refused when it would take the room that must stay free, before it is fetched", async () => {
    bench.registry.add("app", "1", imageOf([zeros("a")]));
    const { bavail, bsize } = statfsSync(bench.folder);
    await expect(ensure({ reserveBytes: bavail * bsize * 2 })).rejects.toMatchObject({ code: "storage" });
    expect(bench.registry.asked.filter((path) => path.includes("blobs/"))).toEqual([]);
    expect(counts(bench)).toMatchObject({ layers: 0, names: 0 });
  });

  test("of zeros takes next to nothing of the disk, and is counted so", async () => {
    bench.registry.add("app", "1", imageOf([zeros("a"), zeros("b")]));
    const image = await ensure();
    expect(image.layers.length).toBe(2);
    const [listed] = await bench.store.list();
    expect(listed?.bytes).toBeLessThan(32 * 1024);
  });
});

test.skipIf(!asRoot)("what an earlier version unpacked is counted by the size of its archive", async () => {
  bench.registry.add("app", "1", imageOf([[{ name: "a", content: "x" }]]));
  await ensure();
  const layers = join(bench.folder, "images", "layers");
  const [hex = ""] = readdirSync(layers);
  writeFileSync(join(layers, hex, "layer.json"), JSON.stringify({ diffId: `sha256:${"0".repeat(64)}`, bytes: 2560, entries: 1 }));
  expect((await bench.store.list())[0]?.bytes).toBe(2560);
});
