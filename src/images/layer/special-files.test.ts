/** Special files in layers: unpacking opens none of them, or a FIFO would stop it for ever. */
import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asRoot, refusal, tree, unpacked, useLayerFolder } from "../../../test/world/layer-folder.ts";

useLayerFolder();
const pipe = { name: "etc/passwd", type: "fifo", mode: 0o644 } as const;

describe.skipIf(!asRoot)("a FIFO", () => {
  test("is made as it is, with owner, mode and attributes", async () => {
    const root = await unpacked([{ ...pipe, uid: 7, gid: 8 }]);
    const found = lstatSync(join(root, "etc/passwd"));
    expect([found.isFIFO(), found.uid, found.gid, found.mode & 0o777]).toEqual([true, 7, 8, 0o644]);
  });

  test("gives way to a file, a link and a folder of its name", async () => {
    const root = await unpacked([
      pipe,
      { name: "etc/passwd", content: "root" },
      { name: "a", type: "fifo" },
      { name: "a", type: "symlink", linkName: "etc" },
      { name: "b", type: "fifo" },
      { name: "b/" },
      { name: "b/c", content: "x" },
    ]);
    expect(readFileSync(join(root, "etc/passwd"), "utf8")).toBe("root");
    expect(tree(root)).toEqual(["a", "b/", "b/c", "etc/", "etc/passwd"]);
  });

  test("gets a second name", async () => {
    const root = await unpacked([pipe, { name: "again", type: "link", linkName: "etc/passwd" }]);
    expect(lstatSync(join(root, "again")).isFIFO()).toBe(true);
  });

  test("is no folder, in this layer or below it", async () => {
    expect(await refusal([pipe, { name: "etc/passwd/x" }])).toMatch(/^hostile_layer: .*in a folder that is a file/);
    const below = await unpacked([pipe]);
    expect(await refusal([{ name: "etc/passwd/x" }], { lowers: [below] })).toMatch(/^hostile_layer: .*in a folder that is a file/);
  });

  test("of a layer below is hidden and replaced", async () => {
    const below = await unpacked([pipe, { name: "gone", type: "fifo" }]);
    for (const whiteout of ["device", "xattr"] as const) {
      const marks = { whiteout, namespace: "trusted" } as const;
      const root = await unpacked([{ name: "etc/passwd", content: "root" }, { name: ".wh.gone" }], { lowers: [below], marks });
      expect(readFileSync(join(root, "etc/passwd"), "utf8")).toBe("root");
      expect(tree(root)).toEqual(["etc/", "etc/passwd", "gone"]);
    }
  });
});

describe.skipIf(!asRoot)("a device", () => {
  test.each(["char", "block"] as const)("of type %s is refused", async (type) => {
    expect(await refusal([{ name: "dev/x", type, devMajor: 1, devMinor: 3 }])).toMatch(/^hostile_layer: .*is a device/);
  });

  test("that means a deletion on disk is one", async () => {
    const below = await unpacked([{ name: "x", content: "old" }]);
    const root = await unpacked([{ name: "x", type: "char", devMajor: 0, devMinor: 0 }], { lowers: [below] });
    expect([lstatSync(join(root, "x")).isCharacterDevice(), lstatSync(join(root, "x")).rdev]).toEqual([true, 0]);
  });
});
