/**
 * The files of volumes, as E2B's SDKs reach them at E2B_VOLUME_API_URL. The caller is the volume's token, sent as a bearer: these routes know no API keys.
 * Uploads and downloads are streams, so a file may be as large as its volume.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { IncomingMessage } from "node:http";
import { type Static, Type } from "typebox";
import type { OpenVolume } from "#services/volumes/volume-contents.ts";
import { ServiceError } from "#services/service-error.ts";
import { setCaller } from "../http/caller-of.ts";
import { enterAs } from "../http/team-gate.ts";

export interface VolumeContents {
  /** Undefined for a wrong token, and for a volume that is not there. */
  readonly openVolume: (id: string, token: string) => OpenVolume | undefined;
}

const mostEntries = 10_000;
const deepest = 32;
const largestId = 65_535;

const id = Type.Optional(Type.Integer({ minimum: 0, maximum: largestId }));
const mode = Type.Optional(Type.Integer({ minimum: 0, maximum: 0o7777 }));
const path = Type.String({ minLength: 1, maxLength: 4096 });
const pathQuery = Type.Object({ path });
const listQuery = Type.Object({ path, depth: Type.Optional(Type.Integer({ minimum: 1, maximum: deepest })) });
const writeQuery = Type.Object({ path, uid: id, gid: id, mode, force: Type.Optional(Type.Boolean()) });
const changeBody = Type.Object({ uid: id, gid: id, mode });

type Entry = Awaited<ReturnType<OpenVolume["files"]["stat"]>>;

const opened = new WeakMap<FastifyRequest, OpenVolume>();

export function volumeContentRoutes(app: FastifyInstance, { openVolume }: VolumeContents): void {
  app.addHook("onRequest", async (request, reply) => {
    if (request.is404) return;
    const volume = openVolume((request.params as { readonly volumeID: string }).volumeID, bearer(request) ?? "");
    // One answer for a wrong token and for no such volume: without the token they are the same.
    if (volume === undefined)
      throw new ServiceError(
        "unauthenticated",
        "this is not the token of this volume: send the one that comes with it as Authorization: Bearer …",
      );
    setCaller(request, volume.caller);
    enterAs(volume.caller, reply);
    opened.set(request, volume);
  });
  const config = { public: true } as const;
  const base = "/volumecontent/:volumeID";
  app.get(`${base}/path`, { config, exposeHeadRoute: false, schema: { querystring: pathQuery } }, async (request) => {
    const { path: wanted } = request.query as Static<typeof pathQuery>;
    return entryBody(await filesOf(request).stat(wanted));
  });
  app.patch(`${base}/path`, { config, schema: { querystring: pathQuery, body: changeBody } }, async (request) => {
    const { path: wanted } = request.query as Static<typeof pathQuery>;
    return entryBody(await filesOf(request).change(wanted, request.body as Static<typeof changeBody>));
  });
  app.delete(`${base}/path`, { config, schema: { querystring: pathQuery } }, async (request, reply) => {
    await filesOf(request).remove((request.query as Static<typeof pathQuery>).path);
    return reply.code(204).send();
  });
  app.get(`${base}/dir`, { config, exposeHeadRoute: false, schema: { querystring: listQuery } }, async (request) => {
    const { path: wanted, depth = 1 } = request.query as Static<typeof listQuery>;
    return (await filesOf(request).list(wanted, { depth, most: mostEntries })).map(entryBody);
  });
  app.post(`${base}/dir`, { config, schema: { querystring: writeQuery } }, async (request, reply) => {
    const { path: wanted, force = false, ...attributes } = request.query as Static<typeof writeQuery>;
    return reply.code(201).send(entryBody(await filesOf(request).makeFolder(wanted, { ...attributes, force })));
  });
  app.get(`${base}/file`, { config, exposeHeadRoute: false, schema: { querystring: pathQuery } }, async (request, reply) => {
    const { sizeBytes, content } = await filesOf(request).read((request.query as Static<typeof pathQuery>).path);
    return reply.type("application/octet-stream").header("content-length", sizeBytes).send(content);
  });
  void app.register(async (inside) => uploadRoute(inside, base));
}

/** In a scope of its own, in which no body is read before the handler asks for it. */
function uploadRoute(app: FastifyInstance, base: string): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  const options = { config: { public: true }, bodyLimit: Number.MAX_SAFE_INTEGER, schema: { querystring: writeQuery } } as const;
  app.put(`${base}/file`, options, async (request: FastifyRequest, reply: FastifyReply) => {
    // What is not said is not refused: an SDK that writes a file means the file to be there afterwards.
    const { path: wanted, force: replace = true, ...attributes } = request.query as Static<typeof writeQuery>;
    const content = (request.body ?? []) as IncomingMessage;
    return reply.code(201).send(entryBody(await filesOf(request).write(wanted, content, { ...attributes, replace })));
  });
}

function filesOf(request: FastifyRequest): OpenVolume["files"] {
  const volume = opened.get(request);
  if (volume === undefined) throw new ServiceError("unauthenticated", "this request carries no token of a volume");
  return volume.files;
}

function bearer({ headers: { authorization = "" } }: FastifyRequest): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
}

function entryBody({ name, type, path: at, sizeBytes, mode: bits, uid, gid, accessedAt, modifiedAt, changedAt, target }: Entry) {
  return {
    name,
    type,
    path: at,
    size: sizeBytes,
    mode: bits,
    uid,
    gid,
    atime: accessedAt.toISOString(),
    mtime: modifiedAt.toISOString(),
    ctime: changedAt.toISOString(),
    ...(target === undefined ? {} : { target }),
  };
}
