/** What a team's pods may bring to the machine. Unpacking needs root. */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { counts, useImageBench } from "../../test/world/image-bench.ts";
import { imageOf } from "../../test/world/image-fixture.ts";
import { layerOf } from "../../test/world/layer-archive.ts";
import { asRoot } from "../../test/world/layer-folder.ts";
import { patiently } from "../../test/world/patiently.ts";
import type { ResolvedImage } from "./resolved-image.ts";

const bench = useImageBench();
const mib = 1024 ** 2;

const layer = (name: string, bytes: number): ReturnType<typeof layerOf> => layerOf([{ name, content: randomBytes(bytes) }]);

function ensure(tag: string, team: string, maxMib: number): Promise<ResolvedImage> {
  const budget = { team, maxBytes: maxMib * mib };
  return patiently(bench.clock, bench.store.ensure(`${bench.registry.host}/app:${tag}`, { pullPolicy: "IfNotPresent", budget }));
}

const usedMib = async (team: string): Promise<number> => Math.round(((await bench.store.usedByTeams()).get(team) ?? 0) / mib);
const layersAsked = (): number => bench.registry.asked.filter((path) => path.includes("blobs/")).length;

describe.skipIf(!asRoot)("a team's images", () => {
  test("are refused over its limit before a layer is fetched, and the message says what helps", async () => {
    bench.registry.add("app", "1", imageOf([layer("a", 2 * mib)]));
    bench.registry.add("app", "2", imageOf([layer("b", 2 * mib)]));
    await ensure("1", "red", 5);
    // Compressed and unpacked.
    expect(await usedMib("red")).toBe(4);
    const before = layersAsked();
    await expect(ensure("2", "red", 5)).rejects.toMatchObject({
      code: "team_limit",
      message: expect.stringMatching(
        /^team red may have 5 MiB of images on a machine \(limit imageMiB\): it has 5, and this image needs at least 3 more\. .*agentbox limits set --team red imageMiB=N$/,
      ) as string,
    });
    // The config only.
    expect(layersAsked() - before).toBe(1);
    expect(counts(bench)).toMatchObject({ layers: 1, names: 1 });
    await ensure("2", "red", 10);
  });

  test("count for the team that brought them, and for no team when none did", async () => {
    bench.registry.add("app", "1", imageOf([layer("a", 2 * mib)]));
    bench.registry.add("app", "2", imageOf([layer("b", 2 * mib)]));
    await patiently(bench.clock, bench.store.ensure(`${bench.registry.host}/app:1`, { pullPolicy: "IfNotPresent" }));
    await ensure("1", "red", 0);
    await ensure("2", "blue", 5);
    await ensure("2", "red", 0);
    expect([await usedMib("red"), await usedMib("blue")]).toEqual([0, 4]);
  });

  test("count a layer that several of them have once", async () => {
    const base = layer("base", 2 * mib);
    bench.registry.add("app", "1", imageOf([base]));
    bench.registry.add("app", "2", imageOf([base, layer("b", mib)]));
    await ensure("1", "red", 7);
    await ensure("2", "red", 7);
    expect(await usedMib("red")).toBe(6);
  });

  test("that unpack to more than is left are cut off, and what came of them counts until it is collected", async () => {
    const zeros = layerOf([{ name: "z", content: Buffer.alloc(20 * mib) }]);
    bench.registry.add("app", "1", imageOf([layer("a", 2 * mib), zeros]));
    await expect(ensure("1", "red", 8)).rejects.toMatchObject({
      code: "team_limit",
      message: expect.stringContaining("what this image unpacks to is too much") as string,
    });
    expect(counts(bench)).toMatchObject({ layers: 1, names: 0 });
    expect(await usedMib("red")).toBe(4);
    await bench.store.gc();
    expect([...(await bench.store.usedByTeams())]).toEqual([]);
  });

  test("pulled at once do not take the same room", async () => {
    bench.registry.add("app", "1", imageOf([layer("a", 2 * mib)]));
    bench.registry.add("app", "2", imageOf([layer("b", 2 * mib)]));
    bench.registry.add("app", "3", imageOf([layer("c", 2 * mib)]));
    // Compressed, two would fit, and all three would not.
    const outcomes = await Promise.allSettled(["1", "2", "3"].map((tag) => ensure(tag, "red", 5)));
    const refused = outcomes.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
    expect(refused).toEqual(expect.arrayContaining([expect.stringContaining("this image needs at least 3 more")]));
    expect((await bench.store.usedByTeams()).get("red")).toBeLessThanOrEqual(5 * mib);
  });

  test("asked for by many pods at once are one image", async () => {
    bench.registry.add("app", "1", imageOf([layer("a", 2 * mib)]));
    await Promise.all(Array.from({ length: 5 }, () => ensure("1", "red", 5)));
    expect(await usedMib("red")).toBe(4);
  });

  test("that are unused go by age until the team has room; those of others stay", async () => {
    for (const tag of ["1", "2", "3"]) {
      bench.registry.add("app", tag, imageOf([layer(tag, 2 * mib)]));
      await ensure(tag, tag === "3" ? "blue" : "red", 100);
      await bench.clock.step(1000);
    }
    await ensure("1", "red", 100);
    const { images } = await bench.store.gc({ team: "red", keepBytes: 3 * mib });
    expect(images).toEqual([`${bench.registry.host}/app:2`]);
    expect([await usedMib("red"), await usedMib("blue")]).toEqual([2, 2]);
  });
});
