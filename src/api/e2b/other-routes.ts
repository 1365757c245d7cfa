/** Health and teams. Also lists by name what E2B has and AgentBox does not have yet, so that clients get a clear answer instead of an unknown path. */
import type { FastifyInstance } from "fastify";
import { callerOf } from "../http/caller-of.ts";
import { notYet } from "./not-yet.ts";

const missing: readonly (readonly [method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", url: string, what: string])[] = [
  ["POST", "/sandboxes/:sandboxID/snapshots", "snapshots"],
  ["GET", "/snapshots", "snapshots"],
  ["POST", "/sandboxes/:sandboxID/fork", "fork"],
  ["POST", "/templates", "building templates: apply a SandboxTemplate and a SandboxPool instead"],
  ["POST", "/v2/templates", "building templates: apply a SandboxTemplate and a SandboxPool instead"],
  ["POST", "/v3/templates", "building templates: apply a SandboxTemplate and a SandboxPool instead"],
  ["GET", "/templates/:templateID/files/:hash", "building templates"],
  ["POST", "/v2/templates/:templateID/builds/:buildID", "building templates"],
  ["POST", "/templates/:templateID", "building templates"],
  ["POST", "/templates/:templateID/builds/:buildID", "building templates"],
  ["GET", "/templates/:templateID/builds/:buildID/status", "building templates"],
  ["GET", "/templates/:templateID/builds/:buildID/logs", "building templates"],
  ["DELETE", "/templates/:templateID", "deleting templates over this API: delete the SandboxPool instead"],
  ["PATCH", "/templates/:templateID", "changing templates over this API: change the SandboxPool instead"],
  ["PATCH", "/v2/templates/:templateID", "changing templates over this API: change the SandboxPool instead"],
  ["POST", "/templates/tags", "tags of templates"],
  ["DELETE", "/templates/tags", "tags of templates"],
  ["GET", "/templates/:templateID/tags", "tags of templates"],
  ["GET", "/volumes", "volumes"],
  ["POST", "/volumes", "volumes"],
  ["GET", "/volumes/:volumeID", "volumes"],
  ["DELETE", "/volumes/:volumeID", "volumes"],
  ["GET", "/volumecontent/*", "volumes"],
  ["POST", "/volumecontent/*", "volumes"],
  ["PUT", "/volumecontent/*", "volumes"],
  ["PATCH", "/volumecontent/*", "volumes"],
  ["DELETE", "/volumecontent/*", "volumes"],
  ["GET", "/secrets", "secrets"],
  ["POST", "/secrets", "secrets"],
  ["GET", "/secrets/:secretID", "secrets"],
  ["POST", "/secrets/:secretID", "secrets"],
  ["DELETE", "/secrets/:secretID", "secrets"],
];

export function otherRoutes(app: FastifyInstance): void {
  app.get("/health", { config: { public: true } }, (_, reply) => reply.code(204).send());
  app.get("/teams", async (request) => {
    const { team, keyId } = callerOf(request);
    const name = team === "" ? "admin" : team;
    return [{ teamID: name, name, apiKey: "", isDefault: true, keyId }];
  });
  for (const [method, url, what] of missing) {
    app.route({
      method,
      url,
      exposeHeadRoute: false,
      handler: () => {
        throw notYet(what);
      },
    });
  }
}
