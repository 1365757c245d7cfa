import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { type EntrySpec, inChunks, tarArchive, tarBlocks, tarEntry } from "../../../test/world/layer-archive.ts";
import { isImageError } from "../image-error.ts";
import { encodePax, parsePax } from "./pax.ts";
import { encodeHeader, type TarEntry } from "./tar-header.ts";
import { TarReader } from "./tar-reader.ts";
import { tarEnd, tarPadding } from "./tar-writer.ts";

interface Read {
  readonly entry: TarEntry;
  readonly content: string;
}

async function readAll(archive: Buffer, chunkSize = 1000): Promise<Read[]> {
  const tar = new TarReader(inChunks(archive, chunkSize));
  const found: Read[] = [];
  for (let entry = await tar.next(); entry !== undefined; entry = await tar.next()) {
    const chunks: Buffer[] = [];
    for (let chunk = await tar.read(); chunk !== undefined; chunk = await tar.read()) chunks.push(Buffer.from(chunk));
    found.push({ entry, content: Buffer.concat(chunks).toString("latin1") });
  }
  return found;
}

async function refusal(archive: Buffer): Promise<string> {
  const error: unknown = await readAll(archive).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  return isImageError(error) ? `${error.code}: ${error.message}` : `not refused: ${String(error)}`;
}

function rawHeader(flag: string, fields: Partial<TarEntry> = {}): Buffer {
  const block = encodeHeader({ ...tarEntry({ name: "entry" }), ...fields });
  return withFlag(block, flag);
}

/** Another type in a header that is otherwise right. */
function withFlag(block: Buffer, flag: string): Buffer {
  const changed = Buffer.from(block);
  changed.write(flag, 156, "latin1");
  return withChecksum(changed);
}

function withChecksum(block: Buffer): Buffer {
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

const name = fc.oneof(
  fc.stringMatching(/^[a-z]{1,20}(\/[a-z]{1,120}){0,4}$/),
  fc
    .uint8Array({ minLength: 1, maxLength: 200 })
    .map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0 && byte !== 47)).toString("latin1") || "x"),
);
const spec: fc.Arbitrary<EntrySpec> = fc.record({
  name,
  type: fc.constantFrom("file", "link", "symlink", "directory", "fifo", "char", "block"),
  linkName: name,
  mode: fc.integer({ min: 0, max: 0o7777 }),
  uid: fc.integer({ min: 0, max: 2 ** 32 - 2 }),
  gid: fc.integer({ min: 0, max: 2 ** 32 - 2 }),
  mtime: fc.oneof(fc.integer({ min: -1000, max: 2 ** 34 }), fc.double({ min: 0, max: 1e9, noNaN: true })),
  devMajor: fc.integer({ min: 0, max: 100 }),
  devMinor: fc.integer({ min: 0, max: 100 }),
  xattrs: fc.dictionary(
    fc.stringMatching(/^user\.[a-z]{1,8}$/),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    { maxKeys: 3 },
  ),
});

test("what is written is what is read, however the stream is cut into chunks", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(spec, { maxLength: 6 }),
      fc.string({ maxLength: 2000 }),
      fc.integer({ min: 1, max: 3000 }),
      async (specs, content, size) => {
        const given = specs.map((one) => (one.type === "file" ? { ...one, content } : one));
        const found = await readAll(tarArchive(given), size);
        expect(found.map(({ entry }) => entry)).toEqual(given.map((one) => tarEntry(one)));
        for (const [index, one] of given.entries()) expect(found[index]?.content).toBe(Buffer.from(one.content ?? "").toString("latin1"));
      },
    ),
    { numRuns: 60 },
  );
});

test("content that nobody reads is skipped", async () => {
  const archive = tarArchive([
    { name: "a", content: "x".repeat(5000) },
    { name: "b", content: "y" },
  ]);
  const tar = new TarReader(inChunks(archive, 100));
  expect([(await tar.next())?.name, (await tar.next())?.name, await tar.next()]).toEqual(["a", "b", undefined]);
});

test("what stands after the end of the archive is read to the end and ignored", async () => {
  let handedOut = 0;
  async function* source(): AsyncGenerator<Buffer, void> {
    for (const chunk of [tarArchive([{ name: "a" }]), Buffer.alloc(10_000), Buffer.from("garbage")]) {
      handedOut += chunk.length;
      yield chunk;
    }
  }
  const tar = new TarReader(source());
  expect([(await tar.next())?.name, await tar.next()]).toEqual(["a", undefined]);
  expect(handedOut).toBe(512 + 1024 + 10_000 + 7);
});

test("an archive without its closing blocks ends where it ends", async () => {
  expect((await readAll(tarBlocks({ name: "a", content: "hello" }))).map(({ content }) => content)).toEqual(["hello"]);
});

describe("archives of GNU tar", () => {
  test.each(["gnu", "pax", "ustar", "v7", "oldgnu"])("in its format %s are read as they were meant", async (format) => {
    const folder = mkdtempSync(join(tmpdir(), "agentbox-tar-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const long = format === "v7" || format === "ustar" ? "n".repeat(90) : "n".repeat(200);
    mkdirSync(join(folder, "in", "sub"), { recursive: true });
    writeFileSync(join(folder, "in", "sub", long), "content");
    execFileSync("ln", ["-s", long, join(folder, "in", "symlink")]);
    execFileSync("ln", [join(folder, "in", "sub", long), join(folder, "in", "sub", "second")]);
    const archive = execFileSync("tar", [
      "-C",
      join(folder, "in"),
      `--format=${format}`,
      "--sort=name",
      "--mtime=@1234567890",
      "--owner=7",
      "--group=8",
      "-cf",
      "-",
      ".",
    ]);
    const found = await readAll(archive);
    expect(found.map(({ entry: { name: path, type, linkName } }) => [path, type, linkName])).toEqual([
      ["./", "directory", ""],
      ["./sub/", "directory", ""],
      [`./sub/${long}`, "file", ""],
      ["./sub/second", "link", `./sub/${long}`],
      ["./symlink", "symlink", long],
    ]);
    expect(found[2]?.content).toBe("content");
    expect(new Set(found.map(({ entry }) => `${entry.mtime} ${entry.uid} ${entry.gid}`))).toEqual(new Set(["1234567890 7 8"]));
  });

  test("with numbers beyond octal are read", async () => {
    const block = withChecksum(bigNumbers());
    const [found] = await readAll(Buffer.concat([block, tarEnd]));
    expect(found?.entry).toMatchObject({ uid: 3_000_000_000, mtime: -1 });
  });

  test("of our own making are read by GNU tar", () => {
    const archive = tarArchive([
      { name: `${"long/".repeat(30)}file`, content: "hello", mode: 0o4755, mtime: 1.5 },
      { name: "link", type: "symlink", linkName: "l".repeat(150) },
    ]);
    const listing = execFileSync("tar", ["-tvf", "-"], { input: archive, env: { ...process.env, TZ: "UTC" } }).toString();
    expect(listing).toContain(`-rwsr-xr-x 0/0               5 1970-01-01 00:00 ${"long/".repeat(30)}file`);
    expect(listing).toContain(`link -> ${"l".repeat(150)}`);
  });
});

function bigNumbers(): Buffer {
  const block = rawHeader("0");
  block.writeUInt8(0x80, 108);
  block.fill(0, 109, 112);
  block.writeUInt32BE(3_000_000_000, 112);
  block.fill(0xff, 136, 148);
  return block;
}

describe("what cannot be read is refused, not misread", () => {
  test("bytes that are no tar", async () => {
    expect(await refusal(Buffer.from("x".repeat(2048)))).toMatch(/^broken_content: .*not a tar/);
  });

  test("a header whose checksum is wrong", async () => {
    const archive = tarArchive([{ name: "a" }]);
    archive.write("b", 0);
    expect(await refusal(archive)).toMatch(/^broken_content: .*checksum/);
  });

  test("an archive that is cut off in a content, a padding or a header", async () => {
    const archive = tarBlocks({ name: "a", content: "x".repeat(600) });
    for (const length of [100, 600, 1100, 1200]) expect(await refusal(archive.subarray(0, length))).toMatch(/^broken_content: .*cut off/);
  });

  test("sparse files of both sorts", async () => {
    expect(await refusal(Buffer.concat([rawHeader("S"), tarEnd]))).toMatch(/^unsupported: .*sparse/);
    const data = encodePax(new Map([["GNU.sparse.major", Buffer.from("1")]]));
    const archive = Buffer.concat([rawHeader("x", { size: data.length }), data, tarPadding(data.length), rawHeader("0"), tarEnd]);
    expect(await refusal(archive)).toMatch(/^unsupported: .*sparse/);
  });

  test.each(["V", "M", "D", "N", "Z"])("type %s", async (flag) => {
    expect(await refusal(Buffer.concat([rawHeader(flag), tarEnd]))).toMatch(/^unsupported: .*of type/);
  });

  test("an extended header larger than any name needs", async () => {
    expect(await refusal(rawHeader("x", { size: 2 * 1024 * 1024 }))).toMatch(/^too_large: /);
    expect(await refusal(rawHeader("L", { size: 2 * 1024 * 1024 }))).toMatch(/^too_large: /);
  });

  test.each(["abc", "5 a=b\n", "9 path=x", "99999 path=x\n", "-1 a=b\n", "3 =\n", "6 path\n", "18446744073709551616 a=b\n"])(
    "an extended header %j",
    (text) => {
      expect(() => parsePax(Buffer.from(text))).toThrow(/not a list of records/);
    },
  );

  test.each([
    ["size", "-5"],
    ["size", "1e30"],
    ["size", "x"],
    ["uid", ""],
    ["mtime", "NaN"],
  ])("an extended header with %s=%s", async (key, value) => {
    const data = encodePax(new Map([[key, Buffer.from(value)]]));
    const archive = Buffer.concat([rawHeader("x", { size: data.length }), data, tarPadding(data.length), rawHeader("0"), tarEnd]);
    expect(await refusal(archive)).toMatch(/^broken_content: /);
  });

  test("a number that is neither octal nor binary", async () => {
    const block = rawHeader("0");
    block.write("9z", 108, "latin1");
    expect(await refusal(withChecksum(block))).toMatch(/^broken_content: .*octal/);
  });
});

test("content is only expected after files, whatever a header says", async () => {
  const archive = Buffer.concat([rawHeader("5", { size: 700 }), rawHeader("2", { size: 9 }), rawHeader("1", { size: 9 }), tarEnd]);
  expect((await readAll(archive)).map(({ entry }) => entry.size)).toEqual([0, 0, 0]);
});

test("headers for the whole archive are passed over", async () => {
  const data = encodePax(new Map([["comment", Buffer.from("0123")]]));
  const archive = Buffer.concat([rawHeader("g", { size: data.length }), data, tarPadding(data.length), rawHeader("0"), tarEnd]);
  expect((await readAll(archive)).map(({ entry }) => entry.name)).toEqual(["entry"]);
});

test("extended headers come back from their text, whatever bytes they hold", () => {
  const records = fc.dictionary(
    fc.stringMatching(/^[a-zA-Z.]{1,30}$/),
    fc.uint8Array({ maxLength: 1200 }).map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(records, (given) => {
      expect(Object.fromEntries(parsePax(encodePax(new Map(Object.entries(given)))))).toEqual({ ...given });
    }),
  );
});
