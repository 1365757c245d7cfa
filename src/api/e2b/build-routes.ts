/** Building templates: names, files, steps, and how a build stands. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { BuildName, TemplateBuilds } from "#services/builds/template-builds.ts";
import type { BuildRequest } from "#services/builds/build-records.ts";
import { ServiceError } from "#services/service-error.ts";
import { callerOf } from "../http/caller-of.ts";
import { uploadPath, uploadUrl } from "../http/upload-url.ts";
import { requestSignal } from "../http/request-signal.ts";
import { notYet } from "./not-yet.ts";
import { type StatusQuery, statusBody, statusQuery, logsBody, type LogsQuery, logsQuery } from "./build-status.ts";

const text = Type.String();
/** Clients of several ages say the name in one of two fields. */
const requestBody = Type.Object({
  name: Type.Optional(text),
  alias: Type.Optional(text),
  tags: Type.Optional(Type.Union([Type.Array(text), Type.Null()])),
  cpuCount: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  memoryMB: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  minFreeDiskMb: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
});

const step = Type.Object({
  type: text,
  args: Type.Optional(Type.Union([Type.Array(text), Type.Null()])),
  filesHash: Type.Optional(Type.Union([text, Type.Null()])),
  force: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
});

const startBody = Type.Object({
  fromImage: Type.Optional(Type.Union([text, Type.Null()])),
  fromTemplate: Type.Optional(Type.Union([text, Type.Null()])),
  fromImageRegistry: Type.Optional(Type.Unknown()),
  force: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  steps: Type.Optional(Type.Union([Type.Array(step), Type.Null()])),
  startCmd: Type.Optional(Type.Union([text, Type.Null()])),
  readyCmd: Type.Optional(Type.Union([text, Type.Null()])),
});

const buildParams = Type.Object({ templateID: text, buildID: text });
const fileParams = Type.Object({ templateID: text, hash: text });

export function buildRoutes(app: FastifyInstance, builds: TemplateBuilds): void {
  // v2 differs in what it does with a Dockerfile, which later clients read themselves.
  for (const url of ["/v3/templates", "/v2/templates"]) {
    app.post(url, { schema: { body: requestBody } }, async (request, reply) => {
      const requested = await builds.request(callerOf(request), wishOf(request.body as Static<typeof requestBody>));
      const { templateId: templateID, buildId: buildID, name, tags, isPublic } = requested;
      return reply.code(202).send({ templateID, buildID, public: isPublic, names: [name], aliases: [name], tags });
    });
  }
  app.get("/templates/:templateID/files/:hash", { schema: { params: fileParams } }, async (request, reply) => {
    const { templateID, hash } = request.params as Static<typeof fileParams>;
    const { present, token } = await builds.uploadLink(callerOf(request), templateID, hash);
    return reply.code(201).send({ present, url: uploadUrl(request, token) });
  });
  app.post("/v2/templates/:templateID/builds/:buildID", { schema: { params: buildParams, body: startBody } }, async (request, reply) => {
    await builds.start(callerOf(request), nameOf(request), startOf(request.body as Static<typeof startBody>));
    return reply.code(202).send();
  });
  app.get(
    "/templates/:templateID/builds/:buildID/status",
    { schema: { params: buildParams, querystring: statusQuery } },
    async (request) => {
      const caller = callerOf(request);
      const name = nameOf(request);
      return statusBody(builds.build(caller, name), builds.logs(caller, name), request.query as StatusQuery);
    },
  );
  app.get("/templates/:templateID/builds/:buildID/logs", { schema: { params: buildParams, querystring: logsQuery } }, async (request) =>
    logsBody(builds.logs(callerOf(request), nameOf(request)), request.query as LogsQuery),
  );
  uploadRoute(app, builds);
}

/** Its body is not read into memory, whatever type it claims to be. The right to send it stands in the address. */
function uploadRoute(app: FastifyInstance, builds: TemplateBuilds): void {
  void app.register(async (inside) => {
    inside.removeAllContentTypeParsers();
    inside.addContentTypeParser("*", (_, payload, done) => done(null, payload));
    const options = { config: { public: true }, bodyLimit: builds.maxUploadBytes };
    inside.put(`${uploadPath}/:token`, options, async (request, reply) => {
      const { token } = request.params as { readonly token: string };
      const content = (request.body ?? emptyBody()) as AsyncIterable<Buffer>;
      await builds.upload(token, content, requestSignal(reply));
      return reply.code(200).send();
    });
  });
}

async function* emptyBody(): AsyncGenerator<Buffer, void> {}

function wishOf({ name, alias, tags, cpuCount, memoryMB, minFreeDiskMb }: Static<typeof requestBody>) {
  const wanted = name ?? alias;
  if (wanted === undefined) throw new ServiceError("invalid_request", "name is needed", { field: "name" });
  return {
    name: wanted,
    ...withoutUndefined({
      tags: tags ?? undefined,
      cpuCount: cpuCount ?? undefined,
      memoryMB: memoryMB ?? undefined,
      minFreeDiskMb: minFreeDiskMb ?? undefined,
    }),
  };
}

function nameOf(request: FastifyRequest): BuildName {
  const { templateID: template, buildID: buildId } = request.params as Static<typeof buildParams>;
  return { template, buildId };
}

function startOf(body: Static<typeof startBody>): BuildRequest {
  const image = body.fromImage ?? "";
  const template = body.fromTemplate ?? "";
  if ((image === "") === (template === "")) {
    throw new ServiceError("invalid_request", "exactly one of fromImage and fromTemplate must be given", { field: "fromImage" });
  }
  if (body.fromImageRegistry !== undefined && body.fromImageRegistry !== null) throw notYet("credentials of a registry for a build");
  const steps = (body.steps ?? []).map(({ type, args, filesHash, force }) => ({
    type,
    args: args ?? [],
    ...withoutUndefined({ filesHash: filesHash ?? undefined, force: force ?? undefined }),
  }));
  return {
    from: template === "" ? { image } : { template },
    steps,
    force: body.force === true,
    startCmd: body.startCmd ?? "",
    readyCmd: body.readyCmd ?? "",
  };
}
