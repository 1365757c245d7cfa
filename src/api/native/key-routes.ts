/** API keys: make, list, revoke. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type } from "typebox";
import type { CreateKey } from "#services/keys/key-rights.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { callerOf } from "../http/caller-of.ts";
import { noteSubject } from "../http/observe-requests.ts";

const body = Type.Object(
  {
    role: Type.Optional(Type.Enum(["admin", "tenant"], { description: "What it may do; tenant when left out" })),
    team: Type.Optional(Type.String({ description: "Whose it is; the caller's own team when left out" })),
    user: Type.Optional(Type.String({ description: "Only this user of the team" })),
    name: Type.Optional(Type.String({ description: "What it is for" })),
    expiresAt: Type.Optional(Type.String({ description: "RFC 3339; never when left out" })),
  },
  { additionalProperties: false },
);

export function keyRoutes(app: FastifyInstance, keys: KeyService): void {
  app.post("/v1/keys", { schema: { body } }, async (request, reply) => {
    const created = await keys.create(callerOf(request), request.body as CreateKey);
    noteSubject(request, { id: created.id });
    return reply.code(201).send(created);
  });
  app.get("/v1/keys", (request, reply) => reply.send({ keys: keys.list(callerOf(request)) }));
  app.delete("/v1/keys/:id", async (request, reply) => {
    await keys.revoke(callerOf(request), keyIdIn(request));
    return reply.code(204).send();
  });
}

function keyIdIn(request: FastifyRequest): string {
  return (request.params as { readonly id: string }).id;
}
