/** Tags of built templates. */
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import type { TemplateBuilds } from "#services/builds/template-builds.ts";
import { callerOf } from "../http/caller-of.ts";

const assignBody = Type.Object({ target: Type.String(), tags: Type.Array(Type.String()) });
const removeBody = Type.Object({ name: Type.String(), tags: Type.Array(Type.String()) });

export function tagRoutes(app: FastifyInstance, builds: TemplateBuilds): void {
  app.post("/templates/tags", { schema: { body: assignBody } }, async (request, reply) => {
    const { target, tags } = request.body as Static<typeof assignBody>;
    const assigned = await builds.assignTags(callerOf(request), target, tags);
    return reply.code(201).send({ buildID: assigned.buildId, tags: assigned.tags });
  });
  app.delete("/templates/tags", { schema: { body: removeBody } }, async (request, reply) => {
    const { name, tags } = request.body as Static<typeof removeBody>;
    await builds.removeTags(callerOf(request), name, tags);
    return reply.code(204).send();
  });
  app.get("/templates/:templateID/tags", async (request) => {
    const { templateID } = request.params as { readonly templateID: string };
    return builds.tags(callerOf(request), templateID).map(({ tag, buildId: buildID, createdAt }) => ({ tag, buildID, createdAt }));
  });
}
