/** Layers and images for tests, made in memory. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { type Digest, digestOf } from "#images/digest.ts";
import type { TarEntry, TarType } from "#images/layer/tar-header.ts";
import { tarEnd, tarHeader, tarPadding } from "#images/layer/tar-writer.ts";

/** What a test says about an entry; the rest is ordinary. */
export interface EntrySpec {
  readonly name: string;
  readonly type?: TarType;
  readonly content?: string | Buffer;
  readonly linkName?: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly mtime?: number;
  readonly devMajor?: number;
  readonly devMinor?: number;
  readonly xattrs?: Readonly<Record<string, Buffer>>;
}

/** 2026-01-01. */
const someTime = 1_767_225_600;

export function tarEntry(spec: EntrySpec): TarEntry {
  const { content = "", xattrs = {}, ...fields } = spec;
  const type = spec.type ?? (spec.name.endsWith("/") ? "directory" : "file");
  const usual = { linkName: "", mode: type === "directory" ? 0o755 : 0o644, uid: 0, gid: 0, mtime: someTime, devMajor: 0, devMinor: 0 };
  return { ...usual, ...fields, type, size: Buffer.byteLength(content), xattrs: new Map(Object.entries(xattrs)) };
}

/** One entry with its content, in the archive's form. */
export function tarBlocks(spec: EntrySpec): Buffer {
  const content = Buffer.from(spec.content ?? "");
  return Buffer.concat([tarHeader(tarEntry(spec)), content, tarPadding(content.length)]);
}

export function tarArchive(specs: readonly EntrySpec[]): Buffer {
  return Buffer.concat([...specs.map(tarBlocks), tarEnd]);
}

export interface LayerFixture {
  readonly blob: Buffer;
  readonly digest: Digest;
  readonly diffId: Digest;
  readonly mediaType: string;
}

/** A layer as a registry has it. */
export function layerOf(specs: readonly EntrySpec[], compression: "gzip" | "zstd" | "none" = "gzip"): LayerFixture {
  return layerOfTar(tarArchive(specs), compression);
}

export function layerOfTar(tar: Buffer, compression: "gzip" | "zstd" | "none" = "gzip"): LayerFixture {
  const blob = compression === "gzip" ? gzipSync(tar, { level: 1 }) : compression === "zstd" ? zstdCompressSync(tar) : tar;
  const suffix = compression === "none" ? "" : `+${compression}`;
  return { blob, digest: digestOf(blob), diffId: digestOf(tar), mediaType: `application/vnd.oci.image.layer.v1.tar${suffix}` };
}

/** A stream that hands out the bytes in chunks of this size, as a network might. */
export async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
