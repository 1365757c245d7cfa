import type { IncomingMessage } from "node:http";
import { basename } from "node:path";
import { zlib } from "#envd/zlib.ts";
import { chunksOf } from "#envd/connect/request-chunks.ts";
import type { Account } from "#envd/accounts/accounts.ts";
import { codeOf } from "./file-failure.ts";
import { metadataOf, type Metadata, type MetadataStore } from "./metadata.ts";
import { boundaryOf, readParts } from "./multipart.ts";
import { replaceFile } from "./replace-file.ts";

export class BadUpload extends Error {
  override readonly name = "BadUpload";
}

export interface UploadTarget {
  readonly metadata: MetadataStore;
  readonly owner: Account;
  /** The path from the query. */
  readonly target: string | undefined;
  readonly resolve: (path: string) => string;
}

export interface UploadedFile {
  readonly name: string;
  readonly path: string;
  readonly type: "file";
  readonly metadata?: Metadata;
}

/** Writes the uploaded files. Throws BadUpload, MultipartError, MetadataError, or the system's error. */
export async function receiveFiles(upload: UploadTarget, request: IncomingMessage): Promise<readonly UploadedFile[]> {
  const metadata = metadataOf(request.rawHeaders);
  const type = request.headers["content-type"];
  const boundary = boundaryOf(type);
  if (boundary === undefined && type?.split(";", 1)[0]?.trim().toLowerCase() !== "application/octet-stream") {
    throw new BadUpload("the content type must be multipart/form-data with a boundary, or application/octet-stream");
  }
  try {
    const body = decodedBody(request);
    return await (boundary === undefined ? receiveOne(upload, metadata, body) : receiveParts(upload, metadata, readParts(body, boundary)));
  } catch (error) {
    if (codeOf(error).startsWith("Z_") || codeOf(error) === "ERR_TRAILING_JUNK_AFTER_STREAM_END")
      throw new BadUpload("the body is not gzip");
    throw error;
  }
}

function decodedBody(request: IncomingMessage): AsyncIterable<Buffer> {
  const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (encoding === "identity") return chunksOf(request);
  if (encoding !== "gzip") throw new BadUpload(`the content encoding ${encoding} is not known; gzip and identity are`);
  const plain = zlib().createGunzip();
  // Errors show where the result is read. Only the decoder is destroyed, because the answer still uses the request's connection.
  plain.on("error", () => {});
  request.once("close", () => request.complete || plain.destroy(new Error("the client went away")));
  return request.pipe(plain);
}

async function receiveOne(
  { metadata: store, owner, target }: UploadTarget,
  metadata: Metadata,
  contents: AsyncIterable<Buffer>,
): Promise<UploadedFile[]> {
  if (target === undefined) throw new BadUpload("the query must name the path of the file");
  await replaceFile(store, { path: target, owner, contents, metadata });
  return [uploaded(target, metadata)];
}

async function receiveParts(
  { metadata: store, owner, target, resolve }: UploadTarget,
  metadata: Metadata,
  parts: ReturnType<typeof readParts>,
): Promise<UploadedFile[]> {
  const files = new Map<string, UploadedFile>();
  for await (const { name, filename, contents } of parts) {
    if (name !== "file") continue;
    if (target === undefined && (filename === undefined || filename === ""))
      throw new BadUpload("a part has no file name, and the query names no path");
    const path = target ?? resolve(filename ?? "");
    if (files.has(path)) throw new BadUpload(`you cannot upload multiple files to the same path '${path}' in one upload request`);
    await replaceFile(store, { path, owner, contents, metadata });
    files.set(path, uploaded(path, metadata));
  }
  return [...files.values()];
}

function uploaded(path: string, metadata: Metadata): UploadedFile {
  return { name: basename(path), path, type: "file", ...(Object.keys(metadata).length === 0 ? {} : { metadata }) };
}
