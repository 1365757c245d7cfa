/** Layers that are given as lists: what other programs read in them, and that nothing but the list matters. */
import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { layerOfTar } from "../../../test/world/layer-archive.ts";
import { asRoot, folder, requestFor, tree, useLayerFolder } from "../../../test/world/layer-folder.ts";
import { unpackLayer } from "../layer/unpack.ts";
import { entriesBelow, type LayerEntry, packEntries } from "./layer-entries.ts";

useLayerFolder();

async function pack(entries: readonly LayerEntry[]): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of packEntries(entries)) parts.push(part);
  return Buffer.concat(parts);
}

const longName = `deep/${"n".repeat(120)}/ünïcode`;
const sample: readonly LayerEntry[] = [
  { kind: "file", path: "bin/tool", content: Buffer.from("#!"), executable: true },
  { kind: "file", path: "etc/note", content: Buffer.alloc(700_000, "note") },
  { kind: "symlink", path: "lib64/ld.so", target: "/lib/ld.so" },
  { kind: "folder", path: "tmp", mode: 0o1777 },
  { kind: "file", path: longName, content: Buffer.from("long") },
];

describe("the archive of a list", () => {
  test("is what the system's tar reads and unpacks: root's, of one time, with the permissions of the list", async () => {
    writeFileSync(join(folder, "layer.tar"), await pack(sample));
    const listed = execFileSync("tar", ["--utc", "--numeric-owner", "-tvf", join(folder, "layer.tar")], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    });
    expect(listed.split("\n").map((line) => line.replaceAll(/ +/g, " "))).toEqual([
      "drwxr-xr-x 0/0 0 2020-01-01 00:00 bin/",
      "-rwxr-xr-x 0/0 2 2020-01-01 00:00 bin/tool",
      "drwxr-xr-x 0/0 0 2020-01-01 00:00 deep/",
      `drwxr-xr-x 0/0 0 2020-01-01 00:00 deep/${"n".repeat(120)}/`,
      `-rw-r--r-- 0/0 4 2020-01-01 00:00 ${longName}`,
      "drwxr-xr-x 0/0 0 2020-01-01 00:00 etc/",
      "-rw-r--r-- 0/0 700000 2020-01-01 00:00 etc/note",
      "drwxr-xr-x 0/0 0 2020-01-01 00:00 lib64/",
      "lrwxrwxrwx 0/0 0 2020-01-01 00:00 lib64/ld.so -> /lib/ld.so",
      "drwxrwxrwt 0/0 0 2020-01-01 00:00 tmp/",
      "",
    ]);
    execFileSync("tar", ["-xf", join(folder, "layer.tar"), "-C", folder]);
    expect(readFileSync(join(folder, "etc/note")).equals(Buffer.alloc(700_000, "note"))).toBe(true);
  });

  test.runIf(asRoot)("is a layer that we unpack ourselves", async () => {
    const request = requestFor(layerOfTar(await pack(sample)));
    await unpackLayer(request);
    expect(tree(request.folder).sort()).toEqual(
      ["bin/", "bin/tool", "deep/", `deep/${"n".repeat(120)}/`, longName, "etc/", "etc/note", "lib64/", "lib64/ld.so", "tmp/"].sort(),
    );
    expect(lstatSync(join(request.folder, "tmp")).mode & 0o7777).toBe(0o1777);
    expect(readlinkSync(join(request.folder, "lib64/ld.so"))).toBe("/lib/ld.so");
    expect(readFileSync(join(request.folder, longName), "utf8")).toBe("long");
  });

  test("does not depend on the order of the list, nor on folders being named", async () => {
    const expected = await pack(sample);
    const extended: LayerEntry[] = [
      ...sample,
      { kind: "folder", path: "etc" },
      { kind: "folder", path: "bin/" },
      { kind: "folder", path: "tmp" },
    ];
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(extended, { minLength: extended.length }), async (entries) => {
        expect((await pack(entries)).equals(expected)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test.each<[string, LayerEntry[]]>([
    ["a file twice", [file("a"), file("./a")]],
    ["a file and a folder of one name", [file("a"), { kind: "folder", path: "a" }]],
    ["something inside a file", [file("a"), file("a/b")]],
    ["the root itself", [{ kind: "folder", path: "." }]],
    ["a way out", [file("../a")]],
    ["an absolute name", [file("/a")]],
  ])("is refused with %s", async (_, entries) => {
    await expect(pack(entries)).rejects.toMatchObject({ name: "ImageError" });
  });
});

function file(path: string): LayerEntry {
  return { kind: "file", path, content: Buffer.from("x") };
}

describe("what is below a folder of this machine", () => {
  function newFolder(name: string, time: number, mode: number): string {
    const root = join(folder, name);
    mkdirSync(join(root, "sub"), { recursive: true, mode: mode | 0o700 });
    writeFileSync(join(root, "sub/data"), "data");
    writeFileSync(join(root, "tool"), "tool");
    chmodSync(join(root, "sub/data"), mode);
    chmodSync(join(root, "tool"), mode | 0o100);
    symlinkSync("tool", join(root, "link"));
    for (const path of ["sub/data", "tool", "sub"]) utimesSync(join(root, path), time, time);
    return root;
  }

  test("gives the same layer whatever its times and permissions for others are; links become files", async () => {
    const [old, fresh] = [newFolder("old", 1_000_000, 0o600), newFolder("fresh", 1_760_000_000.5, 0o664)];
    const [first, second] = [await entriesBelow(old, "app"), await entriesBelow(fresh, "app")];
    expect(first.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
      "file app/link",
      "file app/sub/data",
      "file app/tool",
      "folder app/sub",
    ]);
    expect((await pack(first)).equals(await pack(second))).toBe(true);
  });

  test("is taken as far as it is wanted", async () => {
    const entries = await entriesBelow(newFolder("some", 1, 0o644), "", (name, isFolder) => isFolder || name !== "link");
    expect(entries.map(({ path }) => path).sort()).toEqual(["sub", "sub/data", "tool"]);
  });
});
