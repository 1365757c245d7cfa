/** Layers that try to get out, or to do harm. */
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EntrySpec, layerOf, layerOfTar, tarArchive, tarBlocks } from "../../../test/world/layer-archive.ts";
import { asRoot, folder, refusal, requestFor, tree, unpacked, useLayerFolder } from "../../../test/world/layer-folder.ts";
import { unpackLayer } from "./unpack.ts";

useLayerFolder();

describe.skipIf(!asRoot)("a link in the way", () => {
  test("is followed inside the layer, never out of it", async () => {
    const outside = join(folder, "outside");
    mkdirSync(outside);
    const root = await unpacked([
      { name: "usr/lib/" },
      { name: "lib", type: "symlink", linkName: "usr/lib" },
      { name: "lib/libc.so", content: "relative" },
      { name: "abs", type: "symlink", linkName: outside },
      { name: "abs/evil", content: "stays inside" },
      { name: "up", type: "symlink", linkName: "../../../../.." },
      { name: "up/top", content: "at the top" },
      { name: "chain", type: "symlink", linkName: "up/lib" },
      { name: "chain/second", content: "through two" },
      { name: "deep/down/root", type: "symlink", linkName: "/usr/lib" },
      { name: "deep/down/root/third", content: "from the layer's root" },
    ]);
    expect(readdirSync(outside)).toEqual([]);
    expect(readFileSync(join(root, "usr/lib/libc.so"), "utf8")).toBe("relative");
    expect(readFileSync(join(root, outside, "evil"), "utf8")).toBe("stays inside");
    expect(readFileSync(join(root, "top"), "utf8")).toBe("at the top");
    expect(readFileSync(join(root, "usr/lib/second"), "utf8")).toBe("through two");
    expect(readFileSync(join(root, "usr/lib/third"), "utf8")).toBe("from the layer's root");
  });

  test("is not followed by the entry that stands at its own place", async () => {
    const victim = join(folder, "victim");
    writeFileSync(victim, "untouched");
    const root = await unpacked([
      { name: "x", type: "symlink", linkName: victim },
      { name: "x", content: "new" },
      { name: "y", type: "symlink", linkName: folder },
      { name: "y/", mode: 0o777 },
      { name: "y/z", content: "in the layer" },
    ]);
    expect(readFileSync(victim, "utf8")).toBe("untouched");
    expect(tree(root)).toEqual(["x", "y/", "y/z"]);
  });

  test("is not used to give a file outside a second name or another owner", async () => {
    const victim = join(folder, "victim");
    writeFileSync(victim, "untouched");
    const entries: EntrySpec[] = [
      { name: "dir", type: "symlink", linkName: folder },
      { name: "stolen", type: "link", linkName: "dir/victim" },
    ];
    expect(await refusal(entries)).toMatch(/^hostile_layer: .*no file of this layer/);
    expect(lstatSync(victim).nlink).toBe(1);
  });

  test("to itself ends", async () => {
    const loop: EntrySpec[] = [
      { name: "a", type: "symlink", linkName: "b" },
      { name: "b", type: "symlink", linkName: "a" },
      { name: "a/x", content: "" },
    ];
    expect(await refusal(loop)).toMatch(/^hostile_layer: .*more than 40 symbolic links/);
  });
});

describe.skipIf(!asRoot)("whatever a layer holds", () => {
  test("nothing outside its folder is read, changed or given another name", async () => {
    const outside = join(folder, "outside");
    mkdirSync(join(outside, "sub"), { recursive: true });
    writeFileSync(join(outside, "victim"), "untouched", { mode: 0o640 });
    const before = traces(outside);
    const part = fc.constantFrom("a", "b", "c", "sub", "victim", "..", ".", "", ".wh.a", ".wh..wh..opq", ".wh...");
    const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    const target = fc.oneof(
      path,
      fc.constantFrom(outside, `${outside}/victim`, "/", "..", "../../outside", "../outside/victim", "../../../../../../../..", "a/../.."),
    );
    const entry = fc.record({
      name: fc.oneof({ weight: 8, arbitrary: path }, target),
      type: fc.constantFrom("file", "directory", "symlink", "symlink", "link", "fifo", "char"),
      linkName: target,
      mode: fc.constantFrom(0o777, 0o4755),
      uid: fc.constantFrom(0, 12_345),
      content: fc.constant("evil"),
    });
    const layer = fc.array(entry, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(layer, layer, async (first, second) => {
        const lower = requestFor(layerOf(first.map(withoutContent)));
        const isWhole = await unpackLayer(lower).then(
          () => true,
          () => false,
        );
        const upper = requestFor(layerOf(second.map(withoutContent)), { lowers: isWhole ? [lower.folder] : [] });
        await unpackLayer(upper).catch(() => undefined);
        expect(traces(outside)).toEqual(before);
        for (const request of [lower, upper]) rmSync(request.folder, { recursive: true });
      }),
      { numRuns: 150 },
    );
  });
});

/** Only files have content. */
function withoutContent({ content, ...entry }: EntrySpec): EntrySpec {
  return entry.type === "file" ? { ...entry, content: content ?? "" } : entry;
}

/** Everything about a folder that an escape would change. */
function traces(place: string): unknown[] {
  const look = (path: string): unknown[] => {
    const { mode, uid, nlink, size, mtimeMs, ctimeMs } = lstatSync(path);
    return [path, mode, uid, nlink, size, mtimeMs, ctimeMs];
  };
  return [look(place), ...readdirSync(place, { recursive: true }).map((name) => look(join(place, String(name))))];
}

describe.skipIf(!asRoot)("a hostile layer is refused", () => {
  test.each<[string, EntrySpec[], RegExp]>([
    ["absolute names", [{ name: "/etc/passwd" }], /is absolute/],
    ["names that climb", [{ name: "a/../../etc/passwd" }], /with \.\./],
    ["names with a zero byte", [{ name: "etc/pass\0wd" }], /zero byte/],
    ["whiteouts of the folder's parent", [{ name: "a/.wh..." }], /hides nothing/],
    ["hard links out", [{ name: "x", type: "link", linkName: "../../etc/passwd" }], /with \.\./],
    ["absolute hard links", [{ name: "x", type: "link", linkName: "/etc/passwd" }], /is absolute/],
    ["hard links to nothing", [{ name: "x", type: "link", linkName: "nothing" }], /no file of this layer/],
    ["hard links to folders", [{ name: "d/" }, { name: "x", type: "link", linkName: "d" }], /no file of this layer/],
    ["hard links to the root", [{ name: "x", type: "link", linkName: "./" }], /no file of this layer/],
    ["hard links to whiteouts", [{ name: ".wh.w" }, { name: "x", type: "link", linkName: "w" }], /no file of this layer/],
    [
      "hard links that swallow their target",
      [
        { name: "d/f", content: "" },
        { name: "d", type: "link", linkName: "d/f" },
      ],
      /no file of this layer/,
    ],
    ["disks", [{ name: "dev/sda", type: "block", devMajor: 8 }], /is a device \(block 8:0\)/],
    ["character devices", [{ name: "dev/mem", type: "char", devMajor: 1, devMinor: 1 }], /is a device \(char 1:1\)/],
    ["block devices 0:0", [{ name: "x", type: "block" }], /is a device/],
    ["a file as the root", [{ name: ".", type: "file" }], /place of the layer's root/],
    ["a link as the root", [{ name: ".", type: "symlink", linkName: "/" }], /place of the layer's root/],
    ["links to no name", [{ name: "x", type: "symlink", linkName: "" }], /no possible name/],
    ["links with a zero byte", [{ name: "x", type: "symlink", linkName: "a\0b" }], /no possible name/],
  ])("%s", async (_what, entries, reason) => {
    const message = await refusal(entries);
    expect(message).toMatch(/^hostile_layer: /);
    expect(message).toMatch(reason);
  });

  test("owners that are none", async () => {
    expect(await refusal([{ name: "x", uid: 2 ** 32 - 1 }])).toMatch(/^broken_content: .*owner/);
  });

  test("more entries than allowed", async () => {
    const many = Array.from({ length: 11 }, (_, index) => ({ name: `f${index}` }));
    expect(await refusal(many, { limits: { maxEntries: 10 } })).toMatch(/^too_large: .*10 entries/);
  });

  test("bombs", async () => {
    const bomb = layerOf([{ name: "zeros", content: Buffer.alloc(4 * 1024 * 1024) }]);
    expect(await refusal(bomb, { limits: { maxRatio: 50, ratioFromBytes: 1_000_000 } })).toMatch(/^too_large: .*bomb/);
    expect(await refusal(bomb, { limits: { maxBytes: 1_000_000 } })).toMatch(/^too_large: /);
  });

  test("what would take the room that must stay free on the disk", async () => {
    const before = await refusal([{ name: "x" }], { limits: { reserveBytes: 2 ** 60 } });
    expect(before).toMatch(/^storage: the disk of images is full: .* MB must stay free/);
  });

  test("more hard links than the file system can hold", async () => {
    const links = Array.from({ length: 65_100 }, (_, index) => tarBlocks({ name: `l${index}`, type: "link", linkName: "f" }));
    const layer = layerOfTar(Buffer.concat([tarBlocks({ name: "f" }), ...links, Buffer.alloc(1024)]));
    expect(await refusal(layer)).toMatch(/^too_large: .*hard links/);
  });

  test("content that is not what the config promised", async () => {
    const layer = { ...layerOf([{ name: "a" }]), diffId: layerOf([{ name: "b" }]).diffId };
    expect(await refusal(layer)).toMatch(/^digest_mismatch: .*config says/);
  });

  test("what is damaged or cut off", async () => {
    const whole = tarArchive([{ name: "a", content: "x".repeat(5000) }]);
    expect(await refusal(layerOfTar(whole.subarray(0, 2000)))).toMatch(/^broken_content: .*cut off/);
    const cut = layerOfTar(whole);
    expect(await refusal({ ...cut, blob: cut.blob.subarray(0, cut.blob.length - 9) })).toMatch(/^broken_content: /);
  });

  test("a disk that refuses is told apart from a bad layer", async () => {
    const request = requestFor(layerOf([{ name: "x".repeat(200) }]));
    rmSync(request.folder, { recursive: true });
    await expect(unpackLayer(request)).rejects.toMatchObject({ code: "storage" });
  });
});
