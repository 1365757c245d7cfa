/** Snapshots and forks of sandboxes. A snapshot of E2B is a checkpoint of ours; its id is that of the checkpoint, with a tag. */
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import { requestSignal } from "../http/request-signal.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { CheckpointView } from "#services/checkpoints/checkpoint-view.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import { timeoutOf } from "./create-command.ts";
import type { E2bServices } from "./e2b-face.ts";
import { createdBody } from "./sandbox-body.ts";
import { aliveOne, idOf, idParams, optionsOf } from "./sandbox-routes.ts";
import { templateReference } from "./template-reference.ts";
import { httpStatus } from "../http/status.ts";
import { notYet } from "./not-yet.ts";

const defaultTag = "default";

const takeBody = Type.Union([
  Type.Object({ name: Type.Optional(Type.String({ minLength: 1 })), memory: Type.Optional(Type.Boolean()) }),
  Type.Null(),
]);
const forkBody = Type.Union([
  Type.Object({
    timeout: Type.Optional(Type.Integer({ minimum: 1 })),
    count: Type.Optional(Type.Integer()),
    memory: Type.Optional(Type.Boolean()),
  }),
  Type.Null(),
]);
const listQuery = Type.Object({
  sandboxID: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  nextToken: Type.Optional(Type.String()),
});
const templateParams = Type.Object({ templateID: Type.String() });

export function snapshotRoutes(app: FastifyInstance, services: E2bServices): void {
  const { checkpoints, maxTimeoutSeconds } = services;
  app.post("/sandboxes/:sandboxID/snapshots", { schema: { params: idParams, body: takeBody } }, async (request, reply) => {
    const { name, memory } = (request.body as Static<typeof takeBody>) ?? {};
    const { sandboxId } = await aliveOne(services, request);
    const command = { sandboxId, ...withoutUndefined({ alias: name === undefined ? undefined : tagged(ownName(name)), memory }) };
    const taken = await checkpoints.take(callerOf(request), command, requestSignal(reply)).catch(asName);
    return reply.code(201).send(snapshotBody(taken));
  });
  app.get("/snapshots", { schema: { querystring: listQuery } }, async (request, reply) => {
    const { sandboxID: sandboxId, name, limit = 100, nextToken: cursor } = request.query as Static<typeof listQuery>;
    const alias = name === undefined ? undefined : ownName(name);
    const page = checkpoints.list(callerOf(request), { limit, ...withoutUndefined({ sandboxId, alias, cursor }) });
    if (page.next !== undefined) reply.header("x-next-token", page.next);
    return page.checkpoints.filter(({ phase }) => phase === "Succeeded").map(snapshotBody);
  });
  app.delete("/templates/:templateID", { schema: { params: templateParams } }, async (request, reply) => {
    const { templateID } = request.params as Static<typeof templateParams>;
    const { from, templateVersion } = templateReference(templateID);
    const caller = callerOf(request);
    if (services.builds?.template(caller, templateID) !== undefined) {
      await services.builds.delete(caller, templateID);
      return reply.code(204).send();
    }
    try {
      await checkpoints.delete(caller, templateVersion === undefined ? from : `${from}:${templateVersion}`);
    } catch (error) {
      if (!isServiceError(error, "not_found")) throw error;
      // Of what is here, only snapshots can be deleted so.
      services.sources.get(caller, from);
      throw notYet("deleting templates over this API: delete the SandboxPool instead");
    }
    return reply.code(204).send();
  });
  app.post("/sandboxes/:sandboxID/fork", { schema: { params: idParams, body: forkBody } }, async (request, reply) => {
    const { timeout, count, memory } = (request.body as Static<typeof forkBody>) ?? {};
    const lifetimeMs = timeout === undefined ? undefined : timeoutOf(timeout, maxTimeoutSeconds) * 1000;
    const command = { sandboxId: idOf(request), ...withoutUndefined({ count, lifetimeMs, memory }) };
    const children = await checkpoints.fork(callerOf(request), command, requestSignal(reply));
    return reply.code(201).send(
      children.map((child) => {
        if ("failure" in child) return { error: { code: statusOf(child.failure.code), message: child.failure.message } };
        return { sandbox: createdBody(child.sandbox, optionsOf(services, child.sandbox)) };
      }),
    );
  });
}

function snapshotBody({ id, alias }: CheckpointView) {
  const snapshotID = `${id}:${defaultTag}`;
  return { snapshotID, names: alias === undefined ? [snapshotID] : [tagged(alias)] };
}

/** A name without a tag has the tag `default`. */
function tagged(alias: string): string {
  return alias.includes(":") ? alias : `${alias}:${defaultTag}`;
}

/** E2B puts the team before a slash. */
function ownName(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

function asName(error: unknown): never {
  if (!isServiceError(error) || error.details.field !== "alias") throw error as Error;
  throw new ServiceError(error.code, error.message.replace(/^alias/, "name"), { ...error.details, field: "name", cause: error });
}

function statusOf(code: string): number {
  return Object.hasOwn(httpStatus, code) ? httpStatus[code as keyof typeof httpStatus] : httpStatus.internal;
}
