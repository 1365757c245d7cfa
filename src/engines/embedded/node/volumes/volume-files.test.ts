/** What a sandbox put into a volume must not lead the server out of it. A folder takes the volume's place. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VolumeFileError, type VolumeFiles } from "#engine-port/volumes.ts";
import { makeNode } from "#lib/native/files.ts";
import { volumeFiles } from "./volume-files.ts";

let folder: string;
let top: string;
let files: VolumeFiles;
/** Tests may run without root, and then nothing can be given away. */
const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-volume-"));
  top = join(folder, "top");
  mkdirSync(top);
  writeFileSync(join(folder, "secret"), "the machine's");
  files = volumeFiles({ open: async () => top });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function read(path: string): Promise<string> {
  return text((await files.read("v", path)).content);
}

async function* chunks(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function failure(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (error instanceof VolumeFileError) return error.failure;
  throw new Error(`it did not fail as files do: ${String(error)}`);
}

test("a file is written whole, read, replaced and removed", async () => {
  await files.write("v", "/a", chunks("one", "two"), { ...own, replace: true });
  expect(await read("/a")).toBe("onetwo");
  expect(await failure(files.write("v", "/a", chunks("x"), { ...own, replace: false }))).toBe("busy");
  expect(await files.write("v", "//./a", chunks("new"), { ...own, replace: true, mode: 0o600 })).toMatchObject({
    path: "/a",
    sizeBytes: 3,
    mode: 0o600,
  });
  expect(await read("/a")).toBe("new");
  await files.remove("v", "/a");
  expect(readdirSync(top)).toEqual([]);
});

test.each(["", "old"])("of a file with %j that grows while it is read no more comes than was told", async (before) => {
  writeFileSync(join(top, "a"), before);
  const { sizeBytes, content } = await files.read("v", "/a");
  writeFileSync(join(top, "a"), `${before}HTTP/1.1 200 OK`);
  expect([sizeBytes, await text(content)]).toEqual([before.length, before]);
});

test("an upload that breaks off leaves what was there, and nothing of itself", async () => {
  writeFileSync(join(top, "a"), "old");
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    throw new Error("the client left");
  }
  await expect(files.write("v", "/a", broken(), { ...own, replace: true })).rejects.toThrow("the client left");
  expect([readdirSync(top), readFileSync(join(top, "a"), "utf8")]).toEqual([["a"], "old"]);
});

test("no link leads out of the volume: not to read, not to write, not to list, not to remove", async () => {
  const outside = join(folder, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "kept"), "the machine's");
  symlinkSync(join(folder, "secret"), join(top, "file"));
  symlinkSync("../secret", join(top, "up"));
  symlinkSync(outside, join(top, "folder"));
  symlinkSync("/", join(top, "root"));
  for (const path of ["/file", "/up", "/folder/kept", `/root${folder}/secret`])
    expect(await failure(files.read("v", path))).toBe("not_found");
  expect(await failure(files.write("v", "/folder/new", chunks("x"), { ...own, replace: true }))).toBe("not_found");
  expect(await failure(files.list("v", "/folder", { depth: 1, most: 10 }))).toBe("not_found");
  expect(await failure(files.makeFolder("v", "/folder/new", { ...own, force: true }))).toBe("not_found");
  expect(await failure(files.change("v", "/file", { mode: 0o777 }))).toBe("busy");
  expect((await files.list("v", "/", { depth: 5, most: 10 })).map(({ path, type }) => `${path} ${type}`)).toEqual([
    "/file symlink",
    "/folder symlink",
    "/root symlink",
    "/up symlink",
  ]);
  await files.write("v", "/file", chunks("own"), { ...own, replace: true });
  await files.remove("v", "/folder");
  expect([readFileSync(join(folder, "secret"), "utf8"), readFileSync(join(outside, "kept"), "utf8")]).toEqual([
    "the machine's",
    "the machine's",
  ]);
  expect(await read("/file")).toBe("own");
});

test("a folder goes with all that is in it, and with nothing that links in it lead to", async () => {
  mkdirSync(join(top, "a/b/c"), { recursive: true });
  symlinkSync(folder, join(top, "a/b/link"));
  await files.remove("v", "/a");
  expect([readdirSync(top), existsSync(join(folder, "secret"))]).toEqual([[], true]);
});

test.each(["relative", "", "/../secret", "/a/../../secret", "/a\0b", `/${"a".repeat(256)}`, `/${"a/".repeat(3000)}`])(
  "%j is no path in a volume",
  async (path) => {
    expect(await failure(files.read("v", path))).toBe("invalid");
    expect(await failure(files.stat("v", path))).toBe("invalid");
  },
);

test("links inside the volume are followed as if it were the root", async () => {
  mkdirSync(join(top, "a"));
  writeFileSync(join(top, "a/b"), "here");
  symlinkSync("/a", join(top, "absolute"));
  symlinkSync("../../../a/b", join(top, "a/climbs"));
  expect([await read("/absolute/b"), await read("/a/climbs")]).toEqual(["here", "here"]);
  expect(await files.stat("v", "/absolute")).toMatchObject({ type: "symlink", target: "/a" });
});

test("what is neither file nor folder is not read, and does not block", async () => {
  makeNode(Buffer.from(join(top, "pipe")), 0o10666);
  expect(await failure(files.read("v", "/pipe"))).toBe("busy");
  expect(await files.stat("v", "/pipe")).toMatchObject({ type: "unknown" });
  expect(await failure(files.read("v", "/"))).toBe("busy");
});

test("folders are made with those above them only when that is asked for", async () => {
  expect(await failure(files.makeFolder("v", "/a/b", { ...own, force: false }))).toBe("not_found");
  expect(await files.makeFolder("v", "/a/b", { ...own, force: true })).toMatchObject({ type: "directory", path: "/a/b", mode: 0o777 });
  expect(await failure(files.makeFolder("v", "/a/b", { ...own, force: false }))).toBe("busy");
  await files.makeFolder("v", "/a/b", { ...own, force: true });
});

test("a list has a bound, and shows the levels that are asked for", async () => {
  mkdirSync(join(top, "a/b/c"), { recursive: true });
  for (const name of ["x", "y", "z"]) writeFileSync(join(top, "a", name), "");
  const paths = async (depth: number): Promise<readonly string[]> =>
    (await files.list("v", "/", { depth, most: 100 })).map(({ path }) => path);
  expect([await paths(1), await paths(2), (await paths(9)).length]).toEqual([["/a"], ["/a", "/a/b", "/a/x", "/a/y", "/a/z"], 6]);
  expect(await failure(files.list("v", "/", { depth: 9, most: 5 }))).toBe("too_many");
});

test("the volume itself is not removed, and not written to as a file", async () => {
  expect(await failure(files.remove("v", "/"))).toBe("invalid");
  expect(await failure(files.write("v", "/", chunks("x"), { ...own, replace: true }))).toBe("busy");
});
