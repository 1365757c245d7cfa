import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { inChunks } from "../../../test/world/layer-archive.ts";
import { isImageError } from "../image-error.ts";
import { compressionOf, decompress } from "./decompress.ts";
import { defaultLimits, type LayerLimits } from "./limits.ts";

const text = Buffer.from("some content, ".repeat(5000));

async function through(data: Buffer, limits: LayerLimits = defaultLimits, chunk = 999): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of decompress(inChunks(data, chunk), limits)) parts.push(part);
  return Buffer.concat(parts);
}

async function refusal(data: Buffer, limits?: LayerLimits): Promise<string> {
  const error: unknown = await through(data, limits).then(
    () => "nothing was refused",
    (caught: unknown) => caught,
  );
  return isImageError(error) ? `${error.code}: ${error.message}` : String(error);
}

describe("the form is told by the first bytes", () => {
  test.each([
    ["gzip", gzipSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["none", text],
  ])("%s", async (compression, data) => {
    expect(compressionOf(data)).toBe(compression);
    expect(await through(data)).toEqual(text);
    expect(await through(data, defaultLimits, 1)).toEqual(text);
  });

  test("nothing stays nothing", async () => {
    expect(await through(Buffer.alloc(0))).toEqual(Buffer.alloc(0));
    expect(compressionOf(Buffer.from([0x28]))).toBe("none");
  });
});

test("several compressed parts after each other are one content, as parallel compressors write it", async () => {
  expect(await through(Buffer.concat([gzipSync(text), gzipSync(text)]))).toEqual(Buffer.concat([text, text]));
  expect(await through(Buffer.concat([zstdCompressSync(text), zstdCompressSync(text)]))).toEqual(Buffer.concat([text, text]));
});

describe("damage is refused", () => {
  test.each([
    ["gzip", gzipSync(text)],
    ["zstd", zstdCompressSync(text)],
  ])("%s that is cut off", async (_name, data) => {
    expect(await refusal(data.subarray(0, data.length - 20))).toMatch(/^broken_content: .*damaged or cut off/);
  });

  test("gzip whose bytes were changed", async () => {
    const data = gzipSync(text);
    data.fill(0xff, 40, 60);
    expect(await refusal(data)).toMatch(/^broken_content: /);
  });
});

describe("limits", () => {
  const zeros = Buffer.alloc(8 * 1024 * 1024);

  test("more bytes than allowed are refused before they are all made", async () => {
    expect(await refusal(gzipSync(zeros), { ...defaultLimits, maxBytes: 1_000_000 })).toMatch(/^too_large: .*1000000 bytes/);
    expect(await refusal(text, { ...defaultLimits, maxBytes: 1000 })).toMatch(/^too_large: /);
  });

  test("a bomb is told by its ratio, once it is large enough to matter", async () => {
    const limits = { ...defaultLimits, maxRatio: 100, ratioFromBytes: 1024 * 1024 };
    expect(await refusal(gzipSync(zeros), limits)).toMatch(/^too_large: .*decompression bomb/);
    expect(await refusal(zstdCompressSync(zeros), limits)).toMatch(/^too_large: .*decompression bomb/);
    expect((await through(gzipSync(zeros), { ...limits, ratioFromBytes: 64 * 1024 * 1024 })).length).toBe(zeros.length);
  });
});

test("a source that fails in the middle fails the content with its own error", async () => {
  async function* broken(): AsyncGenerator<Buffer, void> {
    yield gzipSync(text).subarray(0, 100);
    throw new Error("the disk is gone");
  }
  const reading = (async () => {
    for await (const _ of decompress(broken(), defaultLimits));
  })();
  await expect(reading).rejects.toThrow("the disk is gone");
});

test("whoever stops early lets the source close", async () => {
  let closed = false;
  async function* source(): AsyncGenerator<Buffer, void> {
    try {
      for (;;) yield Buffer.alloc(1000, 1);
    } finally {
      closed = true;
    }
  }
  for await (const _ of decompress(source(), defaultLimits)) break;
  expect(closed).toBe(true);
});
