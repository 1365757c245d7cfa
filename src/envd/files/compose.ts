import { createReadStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { chunksOf } from "#envd/connect/request-chunks.ts";
import { isSameSecret } from "#envd-protocol/file-signature.ts";
import { accountOf } from "#envd/accounts/caller.ts";
import { sendError, sendJson } from "#envd/armed/http-answer.ts";
import { pathResolver, type FileDeps } from "./file-deps.ts";
import { replaceFile } from "./replace-file.ts";
import { BadUpload } from "./upload.ts";

const bodyLimit = 1024 * 1024;

interface ComposeBody {
  readonly sources: readonly string[];
  readonly destination: string;
  readonly user: string | undefined;
}

/** Concatenates files in order into one file and removes them. Throws BadUpload, UnknownUser, or the system's error. */
export async function composeFile(deps: FileDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return sendError(response, 405, "use POST");
  const { accessToken } = deps.state.init;
  const { "x-access-token": token } = request.headers;
  if (accessToken !== undefined && accessToken !== "" && !(typeof token === "string" && isSameSecret(token, accessToken))) {
    return sendError(response, 401, "unauthorized access, please provide a valid access token");
  }
  const { sources, destination, user } = parse(await readAll(request));
  const owner = accountOf(deps.accounts, deps.state.init, user);
  const resolve = pathResolver(deps, owner);
  const from = sources.map(resolve);
  const path = resolve(destination);
  for (const source of from) if (!(await stat(source)).isFile()) throw new BadUpload(`path '${source}' is not a regular file`);
  await replaceFile(deps.metadata, { path, owner, contents: joined(from), metadata: {} });
  await Promise.all(from.filter((source) => source !== path).map((source) => rm(source, { force: true })));
  sendJson(response, 200, { name: basename(path), path, type: "file" });
}

async function* joined(paths: readonly string[]): AsyncGenerator<Buffer> {
  for (const path of paths) yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(request)) {
    size += chunk.length;
    if (size > bodyLimit) throw new BadUpload(`the body has more than ${bodyLimit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parse(text: string): ComposeBody {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadUpload("the body is not JSON");
  }
  const {
    source_paths: sources,
    destination,
    username,
  } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if (!Array.isArray(sources) || sources.length === 0 || !sources.every((own) => typeof own === "string" && own !== "")) {
    throw new BadUpload("source_paths must be a list of at least one path");
  }
  if (typeof destination !== "string" || destination === "") throw new BadUpload("destination must be a path");
  if (username !== undefined && typeof username !== "string") throw new BadUpload("username must be a text");
  return { sources, destination, user: username };
}
