/** What of a layer is on disk afterwards. */
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { getXattr } from "#lib/native/files.ts";
import { layerOf } from "../../../test/world/layer-archive.ts";
import { asRoot, requestFor, tree, unpacked, useLayerFolder } from "../../../test/world/layer-folder.ts";
import { UnpackThread } from "./unpack-thread.ts";
import { unpackLayer } from "./unpack.ts";

useLayerFolder();

describe.skipIf(!asRoot)("a layer", () => {
  test.each(["gzip", "zstd", "none"] as const)("compressed with %s becomes a folder", async (compression) => {
    const request = requestFor(layerOf([{ name: "etc/" }, { name: "etc/motd", content: "hello" }], compression));
    expect(await unpackLayer(request)).toEqual({ entries: 2, bytes: 512 * 2 + 512 + 1024, diskBytes: 2 * 4096 });
    expect(readFileSync(join(request.folder, "etc/motd"), "utf8")).toBe("hello");
  });

  test("keeps owners, modes with setuid and sticky bits, and times, of folders too", async () => {
    const root = await unpacked([
      { name: "./", mode: 0o751, uid: 5, mtime: 1000 },
      { name: "bin/", mode: 0o1777, uid: 1, gid: 2, mtime: 2000 },
      { name: "bin/su", mode: 0o4755, uid: 0, gid: 42, mtime: 3000.5, content: "x" },
      { name: "bin/shared", mode: 0o2755, uid: 100_000, gid: 65_534 },
      { name: "bin/secret", mode: 0, uid: 1000, gid: 1000 },
    ]);
    const look = (name: string): unknown[] => {
      const { mode, uid, gid, mtimeMs } = lstatSync(join(root, name));
      return [(mode & 0o7777).toString(8), uid, gid, mtimeMs];
    };
    expect(look("")).toEqual(["751", 5, 0, 1_000_000]);
    expect(look("bin")).toEqual(["1777", 1, 2, 2_000_000]);
    expect(look("bin/su")).toEqual(["4755", 0, 42, 3_000_500]);
    expect(look("bin/shared").slice(0, 3)).toEqual(["2755", 100_000, 65_534]);
    expect(look("bin/secret").slice(0, 3)).toEqual(["0", 1000, 1000]);
  });

  test("keeps hard links, symbolic links wherever they point, and fifos", async () => {
    const root = await unpacked([
      { name: "a", content: "shared", uid: 7 },
      { name: "b", type: "link", linkName: "a" },
      { name: "out", type: "symlink", linkName: "/etc/shadow", uid: 9, mtime: 77 },
      { name: "up", type: "symlink", linkName: "../../../x" },
      { name: "link-to-link", type: "link", linkName: "out" },
      { name: "pipe", type: "fifo", mode: 0o620 },
    ]);
    expect(lstatSync(join(root, "a")).ino).toBe(lstatSync(join(root, "b")).ino);
    expect(readlinkSync(join(root, "out"))).toBe("/etc/shadow");
    expect([lstatSync(join(root, "out")).uid, lstatSync(join(root, "out")).mtimeMs]).toEqual([9, 77_000]);
    expect(readlinkSync(join(root, "up"))).toBe("../../../x");
    expect(readlinkSync(join(root, "link-to-link"))).toBe("/etc/shadow");
    expect(lstatSync(join(root, "pipe")).isFIFO()).toBe(true);
    expect(lstatSync(join(root, "pipe")).mode & 0o777).toBe(0o620);
  });

  test("keeps file capabilities and users' attributes, and no others", async () => {
    // cap_net_raw=ep in the kernel's second version of the format: bytes that are no text.
    const capability = Buffer.from("0100000200200000000000000000000000000000", "hex");
    const root = await unpacked([
      {
        name: "ping",
        uid: 1,
        xattrs: {
          "security.capability": capability,
          "user.note": Buffer.from([0, 200, 10]),
          "user.overlay.redirect": Buffer.from("/etc"),
          "trusted.overlay.redirect": Buffer.from("/etc"),
          "security.selinux": Buffer.from("label"),
        },
      },
      { name: "dir/", xattrs: { "trusted.overlay.opaque": Buffer.from("y"), "user.note": Buffer.from("d") } },
    ]);
    const path = Buffer.from(join(root, "ping"));
    expect(getXattr(path, "security.capability")).toEqual(capability);
    expect(getXattr(path, "user.note")).toEqual(Buffer.from([0, 200, 10]));
    for (const name of ["user.overlay.redirect", "trusted.overlay.redirect", "security.selinux"])
      expect(getXattr(path, name)).toBeUndefined();
    expect(getXattr(Buffer.from(join(root, "dir")), "trusted.overlay.opaque")).toBeUndefined();
    expect(getXattr(Buffer.from(join(root, "dir")), "user.note")).toEqual(Buffer.from("d"));
  });

  test("keeps names that are long or not UTF-8", async () => {
    const deep = `${"d".repeat(200)}/`.repeat(5);
    const root = await unpacked([
      { name: `${deep}file`, content: "deep" },
      { name: "caf\xe9", content: "latin1" },
    ]);
    expect(readFileSync(join(root, `${deep}file`), "utf8")).toBe("deep");
    expect(readFileSync(Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9])]), "utf8")).toBe("latin1");
  });

  test("has what its last entry of a name says", async () => {
    const root = await unpacked([
      { name: "file", content: "first" },
      { name: "file", content: "second" },
      { name: "was-file", content: "x" },
      { name: "was-file/", mode: 0o700 },
      { name: "was-file/inside", content: "y" },
      { name: "was-folder/" },
      { name: "was-folder/sub/" },
      { name: "was-folder/sub/deep", content: "x" },
      { name: "was-folder", type: "symlink", linkName: "file" },
      { name: "twice/", mode: 0o755 },
      { name: "twice/kept", content: "kept" },
      { name: "twice/", mode: 0o700 },
      { name: "was-link", type: "symlink", linkName: "/etc/passwd" },
      { name: "was-link", content: "a file now" },
    ]);
    expect(tree(root)).toEqual(["file", "twice/", "twice/kept", "was-file/", "was-file/inside", "was-folder", "was-link"]);
    expect(readFileSync(join(root, "file"), "utf8")).toBe("second");
    expect(lstatSync(join(root, "twice")).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(root, "was-link")).isFile()).toBe(true);
  });

  test("that replaces a folder does not forget what was inside: a later entry makes it anew", async () => {
    const root = await unpacked([
      { name: "a/b/", mode: 0o700 },
      { name: "a", content: "x" },
      { name: "a/" },
      { name: "a/b/c", content: "y" },
    ]);
    expect(tree(root)).toEqual(["a/", "a/b/", "a/b/c"]);
  });
});

describe.skipIf(!asRoot)("in a thread of its own", () => {
  test("layers become the same folders, one after the other, and progress is told", async () => {
    await using thread = new UnpackThread();
    const told: number[] = [];
    const request = requestFor(layerOf([{ name: "big", content: Buffer.alloc(9 * 1024 * 1024) }], "none"));
    const result = await thread.unpack(request, { onBytes: (bytes) => told.push(bytes) });
    expect(result.entries).toBe(1);
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(lstatSync(join(request.folder, "big")).size).toBe(9 * 1024 * 1024);
    const second = requestFor(layerOf([{ name: "small", content: "x" }]));
    await thread.unpack(second);
    expect(tree(second.folder)).toEqual(["small"]);
  });

  test("a refusal keeps its code, and the thread goes on", async () => {
    await using thread = new UnpackThread();
    const refused = thread.unpack(requestFor(layerOf([{ name: "../x" }])));
    await expect(refused).rejects.toMatchObject({ name: "ImageError", code: "hostile_layer" });
    expect((await thread.unpack(requestFor(layerOf([{ name: "x" }])))).entries).toBe(1);
  });

  test("a failure that nobody foresaw is an error too", async () => {
    await using thread = new UnpackThread();
    const broken = { ...requestFor(layerOf([{ name: "x" }])), lowers: [7 as unknown as string] };
    await expect(thread.unpack(broken)).rejects.toThrow(/must be/);
  });

  test("an abort ends it", async () => {
    await using thread = new UnpackThread();
    const controller = new AbortController();
    const request = requestFor(layerOf([{ name: "big", content: Buffer.alloc(64 * 1024 * 1024) }], "none"));
    const running = thread.unpack(request, { signal: controller.signal, onBytes: () => controller.abort(new Error("no longer wanted")) });
    await expect(running).rejects.toThrow("no longer wanted");
    await expect(thread.unpack(request, { signal: controller.signal })).rejects.toThrow("no longer wanted");
  });
});
