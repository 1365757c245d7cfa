import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, type Headers, pack } from "tar-stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { joinedPieces, packPath } from "./pack-files.ts";
import { FileUnpacker } from "./unpack-files.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-cp-"));
  await mkdir(join(folder, "in"));
  await mkdir(join(folder, "out"));
});
afterEach(async () => await rm(folder, { recursive: true }));

async function unpack(archive: AsyncIterable<Uint8Array>): Promise<void> {
  const unpacker = new FileUnpacker({
    from: "src",
    to: { folder: join(folder, "in"), name: "src" },
    onFile: () => {},
    onSkipped: () => {},
  });
  const entries = extract();
  await Promise.all([pipeline(Readable.from(archive), entries), unpacker.unpack(entries)]);
}

async function unpackEntries(entries: readonly Headers[]): Promise<void> {
  const archive = pack();
  for (const header of entries) {
    if (header.type === undefined) archive.entry(header, "evil");
    else archive.entry(header).end();
  }
  archive.finalize();
  await unpack(joinedPieces(archive));
}

test("bytes, modes, times, links and empty folders arrive as they were", async () => {
  const src = join(folder, "src");
  await mkdir(join(src, "deep", "empty"), { recursive: true });
  const bytes = Buffer.from(Array.from({ length: 700_001 }, (_, at) => at % 251));
  await writeFile(join(src, "deep", "large"), bytes, { mode: 0o751 });
  for (let at = 0; at < 100; at++) await writeFile(join(src, `small-${at}`), `${at}`, { mode: 0o640 });
  await symlink("/etc/passwd", join(src, "absolute"));
  await symlink("deep/large", join(src, "relative"));
  const archive = pack();
  const packing = packPath({ pack: archive, onFile: () => {}, onSkipped: () => {} }, src, "src").then(() => archive.finalize());
  await Promise.all([packing, unpack(joinedPieces(archive))]);

  const copy = join(folder, "in", "src");
  expect((await readdir(copy)).sort()).toEqual((await readdir(src)).sort());
  expect(await readFile(join(copy, "deep", "large"))).toEqual(bytes);
  expect(await readFile(join(copy, "small-99"), "utf8")).toBe("99");
  expect(await readlink(join(copy, "absolute"))).toBe("/etc/passwd");
  expect(await readlink(join(copy, "relative"))).toBe("deep/large");
  for (const path of ["deep", "deep/large", "deep/empty", "small-1"]) {
    const [one, other] = await Promise.all([stat(join(src, path)), stat(join(copy, path))]);
    expect([path, other.mode, Math.floor(other.mtimeMs / 1000)]).toEqual([path, one.mode, Math.floor(one.mtimeMs / 1000)]);
  }
});

test.each<[string, readonly Headers[]]>([
  ["a name with ..", [{ name: "src/../../out/evil" }]],
  ["an absolute name", [{ name: "/tmp/agentbox-evil" }]],
  ["another name than was asked for", [{ name: "other/evil" }]],
  [
    "a hard link to a file outside",
    [
      { name: "src", type: "directory" },
      { name: "src/evil", type: "link", linkname: "../../out/secret" },
    ],
  ],
])("an archive with %s is refused, and nothing is written outside", async (_, entries) => {
  await expect(unpackEntries(entries)).rejects.toThrow("points outside the requested folder");
  expect(await readdir(join(folder, "out"))).toEqual([]);
});

test("a link that the archive makes is no way out for what follows", async () => {
  await expect(
    unpackEntries([
      { name: "src", type: "directory" },
      { name: "src/way", type: "symlink", linkname: join(folder, "out") },
      { name: "src/way/evil" },
    ]),
  ).rejects.toThrow("points outside the requested folder");
  expect(await readdir(join(folder, "out"))).toEqual([]);
});

test("a link that was here before is no way out", async () => {
  await mkdir(join(folder, "in", "src"));
  await symlink(join(folder, "out"), join(folder, "in", "src", "way"));
  await expect(unpackEntries([{ name: "src/way/evil" }])).rejects.toThrow("points outside the requested folder");
  expect(await readdir(join(folder, "out"))).toEqual([]);
});

test("rights to act as another user stay behind", async () => {
  await unpackEntries([
    { name: "src", type: "directory" },
    { name: "src/tool", mode: 0o4755 },
  ]);
  expect((await lstat(join(folder, "in", "src", "tool"))).mode & 0o7777).toBe(0o755);
});
