/** Layers and archives come plain, or compressed with gzip or zstd. Their first bytes tell; media types are often wrong about it. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { ImageError } from "../image-error.ts";
import { ByteReader } from "./byte-reader.ts";
import type { LayerLimits } from "./limits.ts";

export type Compression = "none" | "gzip" | "zstd";

/** Large chunks: each costs a trip through the event loop. */
const chunkSize = 256 * 1024;
export const magicLength = 4;

export function compressionOf(start: Buffer): Compression {
  if (start[0] === 0x1f && start[1] === 0x8b) return "gzip";
  return start.length >= magicLength && start.readUInt32LE(0) === 0xfd2fb528 ? "zstd" : "none";
}

/** The content behind `source`, uncompressed, or an error as soon as it goes beyond the limits. */
export async function* decompress(source: AsyncIterable<Buffer>, limits: LayerLimits): AsyncGenerator<Buffer, void> {
  const counted = { bytes: 0 };
  const input = new ByteReader(counting(source, counted));
  const start = await input.peek(magicLength);
  const compression = compressionOf(start);
  let bytes = 0;
  for await (const chunk of compression === "none" ? input.rest() : inflate(input.rest(), compression)) {
    bytes += chunk.length;
    checkLimits(bytes, counted.bytes, limits);
    yield chunk;
  }
}

async function* counting(source: AsyncIterable<Buffer>, counted: { bytes: number }): AsyncGenerator<Buffer, void> {
  for await (const chunk of source) {
    counted.bytes += chunk.length;
    yield chunk;
  }
}

async function* inflate(source: AsyncIterable<Buffer>, compression: "gzip" | "zstd"): AsyncGenerator<Buffer, void> {
  const output = compression === "gzip" ? createGunzip({ chunkSize }) : createZstdDecompress({ chunkSize });
  const input = Readable.from(source, { objectMode: false });
  const piped = pipeline(input, output);
  // Its failure reaches us through `output` as well; unheard, it would end the process.
  piped.catch(() => undefined);
  try {
    for await (const chunk of output) yield chunk as Buffer;
    await piped;
  } catch (error) {
    if (!isCompressionError(error)) throw error;
    throw new ImageError("broken_content", `the ${compression} data is damaged or cut off: ${error.message}`, { cause: error });
  } finally {
    input.destroy();
    output.destroy();
  }
}

/** zlib's and zstd's own codes, such as Z_DATA_ERROR and ZSTD_error_corruption_detected. */
function isCompressionError(error: unknown): error is Error {
  return error instanceof Error && "code" in error && typeof error.code === "string" && /^Z_|^ZSTD_|^ERR_ZSTD|^ERR_ZLIB/.test(error.code);
}

function checkLimits(bytes: number, compressedBytes: number, limits: LayerLimits): void {
  if (bytes > limits.maxBytes) {
    const variables = "AGENTBOX_IMAGE_MAX_BYTES, AGENTBOX_IMAGE_MAX_RATIO";
    throw new ImageError("too_large", `it unpacks to more than the ${limits.maxBytes} bytes that are allowed for its size (${variables})`);
  }
  if (bytes > limits.ratioFromBytes && bytes > limits.maxRatio * compressedBytes) {
    throw new ImageError(
      "too_large",
      `it unpacks to more than ${limits.maxRatio} times its size, as a decompression bomb does (AGENTBOX_IMAGE_MAX_RATIO)`,
    );
  }
}
