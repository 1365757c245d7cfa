/** Health and teams. Also lists by name what E2B has and AgentBox does not have yet, so that clients get a clear answer instead of an unknown path. */
import type { FastifyInstance } from "fastify";
import { callerOf } from "../http/caller-of.ts";
import { notYet } from "./not-yet.ts";

type Missing = readonly [method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", url: string, what: string];

/** Where templates cannot be built: a server on a cluster. */
const missingBuilds: readonly Missing[] = [
  ["POST", "/v2/templates", "building templates: apply a SandboxTemplate and a SandboxPool instead"],
  ["POST", "/v3/templates", "building templates: apply a SandboxTemplate and a SandboxPool instead"],
  ["GET", "/templates/:templateID/files/:hash", "building templates"],
  ["POST", "/v2/templates/:templateID/builds/:buildID", "building templates"],
  ["GET", "/templates/:templateID/builds/:buildID/status", "building templates"],
  ["GET", "/templates/:templateID/builds/:buildID/logs", "building templates"],
  ["POST", "/templates/tags", "tags of templates"],
  ["DELETE", "/templates/tags", "tags of templates"],
  ["GET", "/templates/:templateID/tags", "tags of templates"],
];

/** On a cluster there are no events of sandboxes: its controllers may not read the Secrets in which webhooks are stored. */
const missingEvents: readonly Missing[] = [
  ["GET", "/events/sandboxes", "events, on clusters"],
  ["GET", "/events/sandboxes/:sandboxID", "events, on clusters"],
  ["GET", "/events/webhooks", "webhooks, on clusters"],
  ["POST", "/events/webhooks", "webhooks, on clusters"],
];

const missing: readonly Missing[] = [
  ["POST", "/templates", "builds of Docker images that the client has pushed, as SDKs before 2.3 make them"],
  ["POST", "/templates/:templateID", "builds of Docker images that the client has pushed, as SDKs before 2.3 make them"],
  ["POST", "/templates/:templateID/builds/:buildID", "builds of Docker images that the client has pushed, as SDKs before 2.3 make them"],
  ["PATCH", "/templates/:templateID", "changing templates over this API: change the SandboxPool instead"],
  ["PATCH", "/v2/templates/:templateID", "changing templates over this API: change the SandboxPool instead"],
  ["GET", "/secrets", "secrets"],
  ["POST", "/secrets", "secrets"],
  ["GET", "/secrets/:secretID", "secrets"],
  ["POST", "/secrets/:secretID", "secrets"],
  ["DELETE", "/secrets/:secretID", "secrets"],
];

interface Present {
  readonly hasBuilds: boolean;
  readonly hasEvents: boolean;
}

export function otherRoutes(app: FastifyInstance, { hasBuilds, hasEvents }: Present): void {
  app.get("/health", { config: { public: true } }, (_, reply) => reply.code(204).send());
  app.get("/teams", async (request) => {
    const { team, keyId } = callerOf(request);
    const name = team === "" ? "admin" : team;
    return [{ teamID: name, name, apiKey: "", isDefault: true, keyId }];
  });
  for (const [method, url, what] of [...missing, ...(hasBuilds ? [] : missingBuilds), ...(hasEvents ? [] : missingEvents)]) {
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
