/** Sandboxes: see them, and end them. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { ListSandboxes, SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { type Route, route } from "#api/native/route.ts";
import { sandboxBody } from "./sandbox-body.ts";
import { type ListQuery, listQuery, oneSandboxSchema, sandboxPageSchema, sandboxParams } from "#api/native/schemas/sandbox.ts";

export interface SandboxRoutesDeps {
  readonly sandboxes: SandboxService;
}

export function sandboxRoutes({ sandboxes }: SandboxRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/sandboxes",
      name: "listSandboxes",
      summary: "List live and ended sandboxes, newest first",
      query: listQuery,
      answers: [{ status: 200, description: "One page of the list.", schema: sandboxPageSchema }],
      errors: ["timeout"],
      fieldOf: (field) => listNames[field] ?? field,
      handle: async ({ caller, query }) => {
        const page = await sandboxes.list(caller(), listCommand(query));
        return { sandboxes: page.sandboxes.map(sandboxBody), ...withoutUndefined({ next: page.next }) };
      },
    }),
    route({
      method: "GET",
      path: "/sandboxes/{sandboxId}",
      name: "getSandbox",
      summary: "Show a sandbox, live or ended",
      description: "If the sandbox is stuck, the answer has the reason and the warnings of its pod.",
      params: sandboxParams,
      answers: [{ status: 200, description: "The sandbox.", schema: oneSandboxSchema }],
      errors: ["not_found"],
      handle: async ({ caller, params }) => ({ sandbox: sandboxBody(await sandboxes.get(caller(), params.sandboxId)) }),
    }),
    route({
      method: "DELETE",
      path: "/sandboxes/{sandboxId}",
      name: "endSandbox",
      summary: "End a sandbox",
      description: "Ending an ended sandbox succeeds and changes nothing.",
      params: sandboxParams,
      answers: [{ status: 202, description: "The sandbox ends, or has ended." }],
      errors: ["not_found", "conflict"],
      handle: ({ caller, params }) => sandboxes.end(caller(), params.sandboxId),
    }),
  ];
}

const listNames: Readonly<Record<string, string>> = { pool: "poolName", env: "envName", template: "templateName" };

function listCommand({ poolName, envName, templateName, metadata, ...rest }: ListQuery): ListSandboxes {
  return {
    ...rest,
    ...withoutUndefined({ pool: poolName, env: envName, template: templateName, metadata: metadata && metadataOf(metadata) }),
  };
}

/** The value may contain more equal signs; each key may appear once. */
function metadataOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  const wanted = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if ((wanted.get(key) ?? value) !== value) {
      const message = `query.metadata: ${JSON.stringify(key)} cannot have two values`;
      throw new ServiceError("invalid_request", message, { field: "query.metadata" });
    }
    wanted.set(key, value);
  }
  return Object.fromEntries(wanted);
}
