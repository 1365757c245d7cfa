import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { encodeHeader } from "#images/layer/tar-header.ts";
import { checkArchive } from "./check-archive.ts";

type Entry = {
  readonly name: string;
  readonly type?: "file" | "link" | "symlink" | "fifo" | "directory";
  readonly linkName?: string;
  readonly content?: string;
};

function archive(...entries: readonly Entry[]): Buffer {
  const blocks = entries.flatMap(({ name, type = "file", linkName = "", content = "" }) => {
    const size = Buffer.byteLength(content);
    const numbers = { mode: 0o644, uid: 0, gid: 0, mtime: 0, devMajor: 0, devMinor: 0 };
    const padded = Buffer.alloc(Math.ceil(size / 512) * 512);
    padded.write(content);
    return [encodeHeader({ name, type, linkName, size, ...numbers }), padded];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

async function* from(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += 100) yield bytes.subarray(at, at + 100);
}

const limits = { maxEntries: 3, maxBytes: 10_000 };
const check = (bytes: Buffer) => checkArchive(from(bytes), limits);

test("files, folders and links are taken, plain or with gzip", async () => {
  const good = archive(
    { name: "dir/", type: "directory" },
    { name: "dir/a", content: "hello" },
    { name: "l", type: "symlink", linkName: "/etc/passwd" },
  );
  expect(await check(good)).toEqual({ kind: "good", isGzip: false });
  expect(await check(gzipSync(good))).toEqual({ kind: "good", isGzip: true });
});

test.each([
  [[{ name: "../evil" }], 'its entry "../evil" leads out of the archive'],
  [[{ name: "a/../../evil" }], "leads out of the archive"],
  [[{ name: "/etc/passwd" }], "is an absolute path"],
  [[{ name: "l", type: "link", linkName: "../x" }], "out of the archive"],
  [[{ name: "p", type: "fifo" }], "is a device or pipe"],
  [[{ name: "a" }, { name: "b" }, { name: "c" }, { name: "d" }], "more than 3 files"],
  [[{ name: "a", content: "x".repeat(11_000) }], "more than 10000 bytes"],
  [[], "it is empty"],
] as const)("%j is refused", async (entries, why) => {
  expect(await check(archive(...entries))).toMatchObject({ kind: "bad", why: expect.stringContaining(why) as string });
});

test("a small archive that unpacks to a large one is refused before it is all read", async () => {
  expect(await check(gzipSync(archive({ name: "a", content: "\0".repeat(50_000) })))).toMatchObject({ kind: "bad" });
});

test("what is no archive is refused", async () => {
  expect(await check(Buffer.from("hello ".repeat(200)))).toMatchObject({ kind: "bad" });
  expect(await check(gzipSync(archive({ name: "a", content: "hello" })).subarray(0, 60))).toMatchObject({ kind: "bad" });
});
