import { type BigIntStats, constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { zlib } from "#envd/zlib.ts";
import { sendError } from "#envd/armed/http-answer.ts";

/** Sends a file, or the requested range. Throws the system's error. */
export async function sendFile(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Nonblocking, because opening a pipe without a writer would wait.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat({ bigint: true });
    if (found.isDirectory()) return sendError(response, 400, `path '${path}' is a directory`);
    if (!found.isFile()) return sendError(response, 400, `path '${path}' is not a regular file`);
    await answer(handle, found, { path, request, response });
  } finally {
    await handle.close();
  }
}

interface Exchange {
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(handle: FileHandle, found: BigIntStats, { path, request, response }: Exchange): Promise<void> {
  const { headers } = request;
  const tag = `"${found.ino.toString(36)}-${found.mtimeNs.toString(36)}-${found.size.toString(36)}"`;
  const modified = new Date(Number(found.mtimeMs));
  response.setHeader("last-modified", modified.toUTCString());
  response.setHeader("etag", tag);
  response.setHeader("accept-ranges", "bytes");
  response.setHeader("vary", "Accept-Encoding");
  if (isUnchanged(headers, tag, modified)) {
    response.writeHead(304).end();
    return;
  }
  const encoding = headers.range === undefined ? chosenEncoding(headers["accept-encoding"]) : "identity";
  if (encoding === undefined) return sendError(response, 406, "the file can be sent as it is or with gzip, and the client takes neither");
  response.setHeader("content-type", "application/octet-stream");
  response.setHeader("content-disposition", disposition(path));
  const size = Number(found.size);
  const range = isRangeValid(headers["if-range"], tag, modified) ? byteRange(headers.range ?? "", size) : "all";
  if (range === "none") {
    response.setHeader("content-range", `bytes */${size}`);
    return sendError(response, 416, `the file has ${size} bytes`);
  }
  await sendContents(handle, { request, response }, { size, range, isGzip: encoding === "gzip" });
}

interface Contents {
  readonly size: number;
  readonly range: ByteRange | "all";
  readonly isGzip: boolean;
}

async function sendContents(
  handle: FileHandle,
  { request, response }: Omit<Exchange, "path">,
  { size, range, isGzip }: Contents,
): Promise<void> {
  if (range !== "all") {
    response.statusCode = 206;
    response.setHeader("content-range", `bytes ${range.start}-${range.end}/${size}`);
  }
  const { start, end } = range === "all" ? { start: 0, end: size - 1 } : range;
  // Files in /proc report size 0 but have content.
  const isKnown = size > 0;
  if (isGzip) response.setHeader("content-encoding", "gzip");
  else if (isKnown) response.setHeader("content-length", end - start + 1);
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  const source = handle.createReadStream({ start, ...(isKnown ? { end } : {}), highWaterMark: 256 * 1024, autoClose: false });
  if (isGzip) await pipeline(source, zlib().createGzip({ level: 1 }), response);
  else await pipeline(source, response);
}

function isUnchanged(headers: IncomingMessage["headers"], tag: string, modified: Date): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) return tags.split(",").some((own) => own.trim() === "*" || own.trim().replace(/^W\//, "") === tag);
  const since = Date.parse(headers["if-modified-since"] ?? "");
  return !Number.isNaN(since) && Math.floor(modified.getTime() / 1000) * 1000 <= since;
}

function isRangeValid(condition: string | string[] | undefined, tag: string, modified: Date): boolean {
  if (condition === undefined) return true;
  return condition === tag || Date.parse(String(condition)) === Math.floor(modified.getTime() / 1000) * 1000;
}

function disposition(path: string): string {
  const name = basename(path);
  if (/^[\x20-\x7e]*$/.test(name) && !/["\\]/.test(name)) return `inline; filename="${name}"`;
  return `inline; filename*=UTF-8''${encodeURIComponent(name.toWellFormed())}`;
}

/** The client's preferred encoding of our two; undefined if it accepts neither. */
export function chosenEncoding(header = ""): "gzip" | "identity" | undefined {
  const weights = new Map(header.split(",").flatMap(weightOf));
  const any = weights.get("*");
  const gzip = weights.get("gzip") ?? any ?? 0;
  const identity = weights.get("identity") ?? (any === 0 ? 0 : undefined);
  if (gzip > 0 && gzip >= (identity ?? 0)) return "gzip";
  return identity === 0 ? undefined : "identity";
}

function weightOf(item: string): [string, number][] {
  const [name = "", ...parameters] = item.split(";").map((text) => text.trim().toLowerCase());
  if (name === "") return [];
  const weight = parameters.find((text) => text.startsWith("q="));
  return [[name, weight === undefined ? 1 : Number(weight.slice(2)) || 0]];
}

export interface ByteRange {
  readonly start: number;
  /** The last byte that belongs to it. */
  readonly end: number;
}

/** The single requested range. "all": no range, or one that may be ignored; "none": outside the file. */
export function byteRange(header: string, size: number): ByteRange | "all" | "none" {
  const [, first, last] = /^bytes=(?!-$)(\d{0,15})-(\d{0,15})$/.exec(header.replaceAll(/\s/g, "")) ?? [];
  if (first === undefined || last === undefined) return "all";
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? "none" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (start >= size) return "none";
  return end < start ? "all" : { start, end };
}
