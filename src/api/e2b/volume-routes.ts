/** Volumes as E2B's SDKs manage them. The token that comes with one is for its files (volume-content-routes.ts). */
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import type { VolumeService, VolumeView } from "#services/volumes/volume-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import { callerOf } from "../http/caller-of.ts";
import { noteSubject } from "../http/observe-requests.ts";

/** The size is ours: E2B's SDKs do not send one. */
const wishBody = Type.Object({ name: Type.String({ minLength: 1 }), sizeMiB: Type.Optional(Type.Integer()) });
const idParams = Type.Object({ volumeID: Type.String() });

export function volumeRoutes(app: FastifyInstance, volumes: VolumeService): void {
  app.get("/volumes", async (request) => volumes.list(callerOf(request)).map(({ id, name }) => ({ volumeID: id, name })));
  app.post("/volumes", { schema: { body: wishBody } }, async (request, reply) => {
    const caller = callerOf(request);
    const made = await volumes.make(caller, request.body as Static<typeof wishBody>).catch(asE2b);
    noteSubject(request, { volume: made.id });
    return reply.code(201).send({ ...bodyOf(made), token: volumes.tokenOf(caller, made.id) });
  });
  app.get("/volumes/:volumeID", { schema: { params: idParams } }, async (request) => {
    const caller = callerOf(request);
    const view = await volumes.get(caller, (request.params as Static<typeof idParams>).volumeID);
    return { ...bodyOf(view), token: volumes.tokenOf(caller, view.id) };
  });
  app.delete("/volumes/:volumeID", { schema: { params: idParams } }, async (request, reply) => {
    await volumes.remove(callerOf(request), (request.params as Static<typeof idParams>).volumeID, { force: false });
    return reply.code(204).send();
  });
}

function bodyOf({ id, name }: VolumeView) {
  return { volumeID: id, name };
}

/** E2B answers a name that is taken as a bad one. */
function asE2b(error: unknown): never {
  if (!isServiceError(error, "conflict") || error.details.field !== "name") throw error;
  throw new ServiceError("invalid_request", error.message, { ...error.details, cause: error });
}
