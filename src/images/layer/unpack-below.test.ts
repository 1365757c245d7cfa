/** What a layer says about the layers below it, tried by mounting real overlays. */
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { getXattr, setXattr } from "#lib/native/files.ts";
import { type EntrySpec } from "../../../test/world/layer-archive.ts";
import { asRoot, folder, mounted, privileged, refusal, tree, unpacked, useLayerFolder } from "../../../test/world/layer-folder.ts";
import { type OverlayMarks, probeMarks } from "./overlay-marks.ts";

useLayerFolder();

describe.skipIf(!asRoot)("whiteouts", () => {
  const base: EntrySpec[] = [
    { name: "etc/", mode: 0o711 },
    { name: "etc/gone", content: "old" },
    { name: "etc/kept", content: "old" },
    { name: "full/" },
    { name: "full/old", content: "old" },
    { name: "full/other", content: "old" },
    { name: "full/sub/deep", content: "old" },
    { name: "again/" },
    { name: "again/old", content: "old" },
    { name: "dropped/" },
    { name: "dropped/old", content: "old" },
  ];
  const change: EntrySpec[] = [
    { name: "etc/" },
    { name: "etc/.wh.gone" },
    { name: "full/" },
    { name: "full/.wh..wh..opq" },
    { name: "full/new", content: "new" },
    { name: ".wh.again" },
    { name: "again/" },
    { name: "again/new", content: "new" },
    { name: ".wh.dropped" },
    { name: ".wh..wh.plnk" },
  ];
  const styles: [string, OverlayMarks, string][] = [
    ["device nodes and trusted attributes", privileged, ""],
    ["attributes alone", { whiteout: "xattr", namespace: "trusted" }, ""],
    ["users' attributes", { whiteout: "xattr", namespace: "user" }, ",userxattr"],
  ];

  test.each(styles)("hide what is below when the layers are mounted, made with %s", async (_how, marks, options) => {
    const lower = await unpacked(base, { marks });
    const upper = await unpacked(change, { marks, lowers: [lower] });
    expect(mounted([upper, lower], tree, options)).toEqual(["again/", "again/new", "etc/", "etc/kept", "full/", "full/new"]);
  });

  test.each(styles)("in the other order of entries mean the same, made with %s", async (_how, marks, options) => {
    const lower = await unpacked(base, { marks });
    const upper = await unpacked([...change].reverse(), { marks, lowers: [lower] });
    expect(mounted([upper, lower], tree, options)).toEqual(["again/", "again/new", "etc/", "etc/kept", "full/", "full/new"]);
  });

  test.each(styles)("that stand in a folder beside its opaque mark do not show as files, made with %s", async (_how, marks, options) => {
    const lower = await unpacked(base, { marks });
    const both: EntrySpec[] = [
      { name: "full/.wh.old" },
      { name: "full/sub/.wh.deep" },
      { name: "full/.wh..wh..opq" },
      { name: "full/.wh.other" },
    ];
    const upper = await unpacked(both, { marks, lowers: [lower] });
    expect(mounted([upper, lower], (root) => tree(root).filter((name) => name.startsWith("full")), options)).toEqual([
      "full/",
      "full/sub/",
    ]);
  });

  test("of what is not there below leave no trace", async () => {
    const lower = await unpacked(base);
    const upper = await unpacked([{ name: "etc/.wh.never" }, { name: "fresh/.wh.never" }], { lowers: [lower] });
    expect(tree(upper)).toEqual(["etc/", "fresh/"]);
  });

  test("written as device nodes 0:0 are taken as such", async () => {
    const lower = await unpacked(base);
    const upper = await unpacked([{ name: "etc/gone", type: "char" }], { lowers: [lower] });
    expect(mounted([upper, lower], (root) => existsSync(join(root, "etc/gone")))).toBe(false);
  });

  test("do not remove what the same layer brings", async () => {
    const root = await unpacked([{ name: "file", content: "new" }, { name: ".wh.file" }]);
    expect(readFileSync(join(root, "file"), "utf8")).toBe("new");
  });

  test("this machine's way is found by trying", () => {
    expect(probeMarks(folder)).toEqual(privileged);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe.skipIf(!asRoot)("folders that a layer uses without describing them", () => {
  test("look as they do below", async () => {
    const lower = await unpacked([
      { name: "./", mode: 0o711 },
      { name: "tmp/", mode: 0o1777, mtime: 5000 },
      { name: "home/user/", uid: 1000, gid: 1000, mode: 0o700, xattrs: { "user.note": Buffer.from("n") } },
    ]);
    const middle = await unpacked([{ name: "other", content: "" }], { lowers: [lower] });
    const upper = await unpacked([{ name: "tmp/file" }, { name: "home/user/file" }, { name: "new/file" }], { lowers: [middle, lower] });
    const look = (name: string): unknown[] => [lstatSync(join(upper, name)).uid, (lstatSync(join(upper, name)).mode & 0o7777).toString(8)];
    expect(["", "tmp", "home", "home/user", "new"].map(look)).toEqual([
      [0, "711"],
      [0, "1777"],
      [0, "755"],
      [1000, "700"],
      [0, "755"],
    ]);
    expect(lstatSync(join(upper, "tmp")).mtimeMs).toBe(5_000_000);
    expect(getXattr(Buffer.from(join(upper, "home/user")), "user.note")).toEqual(Buffer.from("n"));
  });

  test("are found through links of the layers below, so that these keep working", async () => {
    const lower = await unpacked([
      { name: "usr/lib/", mode: 0o711 },
      { name: "lib", type: "symlink", linkName: "usr/lib" },
    ]);
    const upper = await unpacked([{ name: "lib/added", content: "x" }], { lowers: [lower] });
    expect(tree(upper)).toEqual(["usr/", "usr/lib/", "usr/lib/added"]);
    expect(mounted([upper, lower], (root) => readFileSync(join(root, "lib/added"), "utf8"))).toBe("x");
  });

  test("do not come back after a whiteout", async () => {
    const lower = await unpacked([
      { name: "a/b/", mode: 0o700 },
      { name: "a/b/old", content: "" },
    ]);
    const hidden = await unpacked([{ name: ".wh.a" }], { lowers: [lower] });
    const opaque = await unpacked([{ name: "a/.wh..wh..opq" }], { lowers: [lower] });
    for (const middle of [hidden, opaque]) {
      const upper = await unpacked([{ name: "a/b/new", content: "" }], { lowers: [middle, lower] });
      expect(lstatSync(join(upper, "a/b")).mode & 0o777).toBe(0o755);
    }
    const same = await unpacked([{ name: ".wh.a" }, { name: "a/b/new", content: "" }], { lowers: [lower] });
    expect(mounted([same, lower], tree)).toEqual(["a/", "a/b/", "a/b/new"]);
  });

  test("cannot be files", async () => {
    const lower = await unpacked([
      { name: "file", content: "" },
      { name: "dir", type: "symlink", linkName: "file" },
    ]);
    expect(await refusal([{ name: "file/x" }], { lowers: [lower] })).toMatch(/^hostile_layer: .*folder that is a file/);
    expect(await refusal([{ name: "dir/x" }], { lowers: [lower] })).toMatch(/^hostile_layer: .*folder that is a file/);
    expect(await refusal([{ name: "a", content: "" }, { name: "a/b" }])).toMatch(/^hostile_layer: .*folder that is a file/);
  });
});

test.skipIf(!asRoot)("an opaque folder in a layer below hides what is further below", async () => {
  const lowest = await unpacked([{ name: "d/sub/", mode: 0o700 }]);
  const opaque = await unpacked([{ name: "d/" }]);
  setXattr(Buffer.from(join(opaque, "d")), "trusted.overlay.opaque", Buffer.from("y"));
  const upper = await unpacked([{ name: "d/sub/file" }], { lowers: [opaque, lowest] });
  expect(lstatSync(join(upper, "d/sub")).mode & 0o777).toBe(0o755);
});
