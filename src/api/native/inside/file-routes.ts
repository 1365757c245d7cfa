/** Files of a running sandbox. */
import { Readable } from "node:stream";
import { Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { choice, text } from "#model/schema-builders.ts";
import type { Caller } from "#services/caller.ts";
import type { ReadFile } from "#services/inside/sandbox-files.ts";
import type { SandboxInside } from "#services/inside/sandbox-inside.ts";
import { ServiceError } from "#services/service-error.ts";
import { requestSignal } from "#api/http/request-signal.ts";
import { type Route, route } from "#api/native/route.ts";
import { closed, named, open, optional } from "#api/native/schemas/builders.ts";
import { sandboxParams } from "#api/native/schemas/sandbox.ts";

export interface FileRoutesDeps {
  readonly inside: Pick<SandboxInside, "readFile" | "writeFile" | "listFolder" | "removeEntry" | "makeFolder" | "moveEntry">;
}

/** An upload is held in memory; larger files go directly to the sandbox through the gateway. */
const largestUpload = 64 * 1024 * 1024;
const pieceBytes = 1024 * 1024;

const path = text("Path in the sandbox; a relative path starts in the user's home directory.", { minLength: 1, maxLength: 4096 });
const user = optional(text("User of the sandbox to act as; the default user when left out.", { minLength: 1, maxLength: 256 }));
const atPath = closed({ path, user }, "Which file.");
const listQuery = closed(
  { path, user, depth: optional(Type.Integer({ minimum: 1, maximum: 10, description: "How many levels; 1 when left out." })) },
  "Which folder.",
);
const moveSchema = named("MoveFile", closed({ to: text("Its new path.", { minLength: 1, maxLength: 4096 }) }, "New path of a file."));

const entrySchema = named(
  "FileEntry",
  open(
    {
      path: text("Whole path."),
      type: choice(["file", "folder", "link", "other"], "What it is."),
      size: Type.Integer({ minimum: 0, description: "In bytes." }),
    },
    "A file, folder or other entry.",
  ),
);
const folderSchema = open(
  { entries: Type.Array(entrySchema, { description: "Entries in the order in which the file system lists them." }) },
  "A folder.",
);

const errors = ["not_found", "conflict", "too_large"] as const;

export function fileRoutes({ inside }: FileRoutesDeps): readonly Route[] {
  return [listRoute(inside), ...contentRoutes(inside), ...entryRoutes(inside)];
}

type Inside = FileRoutesDeps["inside"];

function listRoute(inside: Inside): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/files",
    name: "listFiles",
    summary: "List a folder of a running sandbox",
    params: sandboxParams,
    query: listQuery,
    answers: [{ status: 200, description: "Content of the folder.", schema: folderSchema }],
    errors,
    handle: async ({ caller, params, query, reply }) => {
      const { depth = 1, ...rest } = query;
      const wanted = { ...withoutUndefined(rest), path: rest.path, depth };
      return { entries: await inside.listFolder(caller(), params.sandboxId, wanted, requestSignal(reply)) };
    },
  });
}

function contentRoutes(inside: Inside): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/sandboxes/{sandboxId}/files/content",
      name: "readFile",
      summary: "Read a file",
      params: sandboxParams,
      query: atPath,
      answers: [
        { status: 200, description: "Its bytes.", schema: Type.String({ format: "binary" }), contentType: "application/octet-stream" },
      ],
      errors,
      handle: async ({ caller, params, query, reply }) => {
        const asking = caller();
        const signal = requestSignal(reply);
        const whole = { ...withoutUndefined(query), path: query.path, offset: 0, length: pieceBytes };
        const first = await inside.readFile(asking, params.sandboxId, whole, signal);
        // Prevents that a browser runs the file as a page of this server.
        reply.type("application/octet-stream").header("content-disposition", "attachment").header("content-security-policy", "sandbox");
        return Readable.from(restOf(inside, { caller: asking, sandboxId: params.sandboxId, wanted: whole, first: first.bytes, signal }), {
          objectMode: false,
        });
      },
    }),
    route({
      method: "PUT",
      path: "/sandboxes/{sandboxId}/files/content",
      name: "writeFile",
      summary: "Write a file, and create missing parent folders",
      description: "The body is the raw content, at most 64 MiB.",
      params: sandboxParams,
      query: atPath,
      bytes: largestUpload,
      answers: [{ status: 204, description: "It is written." }],
      errors,
      handle: async ({ caller, params, query, body, reply }) => {
        if (!Buffer.isBuffer(body) && body !== undefined && body !== null) {
          throw new ServiceError("invalid_request", "send the bytes of the file as application/octet-stream", {
            field: "header.content-type",
          });
        }
        const file = { ...withoutUndefined(query), path: query.path, bytes: Buffer.isBuffer(body) ? body : Buffer.alloc(0) };
        await inside.writeFile(caller(), params.sandboxId, file, requestSignal(reply));
      },
    }),
  ];
}

interface Download {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly wanted: ReadFile;
  readonly first: Buffer;
  readonly signal: AbortSignal;
}

/** Yields the pieces as the reader takes them. */
async function* restOf(inside: Inside, { caller, sandboxId, wanted, first, signal }: Download): AsyncGenerator<Buffer, void> {
  let piece = first;
  for (let offset = 0; piece.length > 0;) {
    yield piece;
    offset += piece.length;
    if (piece.length < pieceBytes) return;
    piece = (await inside.readFile(caller, sandboxId, { ...wanted, offset }, signal)).bytes;
  }
}

function entryRoutes(inside: Inside): readonly Route[] {
  return [
    route({
      method: "DELETE",
      path: "/sandboxes/{sandboxId}/files",
      name: "removeFile",
      summary: "Remove a file, or a folder with its content",
      params: sandboxParams,
      query: atPath,
      answers: [{ status: 204, description: "It has gone." }],
      errors,
      handle: ({ caller, params, query, reply }) => inside.removeEntry(caller(), params.sandboxId, query, requestSignal(reply)),
    }),
    route({
      method: "POST",
      path: "/sandboxes/{sandboxId}/files/folder",
      name: "makeFolder",
      summary: "Create a folder, and missing parent folders",
      params: sandboxParams,
      query: atPath,
      answers: [{ status: 204, description: "The folder exists." }],
      errors,
      handle: ({ caller, params, query, reply }) => inside.makeFolder(caller(), params.sandboxId, query, requestSignal(reply)),
    }),
    route({
      method: "POST",
      path: "/sandboxes/{sandboxId}/files/move",
      name: "moveFile",
      summary: "Move or rename a file or folder",
      params: sandboxParams,
      query: atPath,
      body: moveSchema,
      answers: [{ status: 204, description: "The file has its new path." }],
      errors,
      handle: ({ caller, params, query, body, reply }) =>
        inside.moveEntry(caller(), params.sandboxId, { ...query, to: body.to }, requestSignal(reply)),
    }),
  ];
}
