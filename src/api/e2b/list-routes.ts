/** Lists of live sandboxes, in both generations of the API. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { SandboxRecordStatus } from "#model/sandbox-record.ts";
import type { Caller } from "#services/caller.ts";
import type { CreateSources } from "#services/creating/create-sources.ts";
import type { ListSandboxes, LiveFilter } from "#services/sandbox-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import type { E2bServices } from "./e2b-face.ts";
import { listedBody } from "./sandbox-body.ts";

const listQuery = Type.Object({
  metadata: Type.Optional(Type.String()),
  state: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  order: Type.Optional(Type.String()),
  startedAfter: Type.Optional(Type.String()),
  template: Type.Optional(Type.String()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  nextToken: Type.Optional(Type.String()),
});
type ListQuery = Static<typeof listQuery>;

const running: readonly SandboxRecordStatus[] = ["Starting", "Running"];
const statusesOf: Readonly<Record<string, readonly SandboxRecordStatus[]>> = { running, paused: ["Paused"] };

export function listRoutes(app: FastifyInstance, { sandboxes, sources }: E2bServices): void {
  const list = async (request: FastifyRequest, reply: FastifyReply, status: readonly SandboxRecordStatus[]): Promise<unknown> => {
    const { order = "desc", limit = 100, nextToken } = request.query as ListQuery;
    if (order !== "asc" && order !== "desc") throw invalid("order", `must be asc or desc, not ${JSON.stringify(order)}`);
    const caller = callerOf(request);
    const filter = filterOf(sources, caller, request.query as ListQuery);
    const page = await sandboxes.list(caller, {
      limit,
      status,
      order: order === "asc" ? "oldest" : "newest",
      ...filter,
      ...withoutUndefined({ cursor: nextToken }),
    });
    // Of all pages; where only paused ones are asked for, none that runs is meant.
    const counted = running.filter((one) => status.includes(one));
    const count = counted.length === 0 ? undefined : sandboxes.countLive(caller, { ...filter, status: counted });
    if (count !== undefined) reply.header("x-total-running", count);
    if (page.next !== undefined) reply.header("x-next-token", page.next);
    return page.sandboxes.map((record) => listedBody(record));
  };
  app.get("/sandboxes", { schema: { querystring: listQuery } }, (request, reply) => list(request, reply, running));
  app.get("/v2/sandboxes", { schema: { querystring: listQuery } }, (request, reply) =>
    list(request, reply, wantedStatus(request.query as ListQuery)),
  );
}

function filterOf(sources: CreateSources, caller: Caller, { metadata, startedAfter, template }: ListQuery): LiveFilter {
  if (template?.includes(":") === true) throw invalid("template", "takes a template without a tag");
  return withoutUndefined({
    claimedAfter: startedAfter,
    ...(template === undefined ? {} : madeFrom(sources, caller, template)),
    metadata: metadata === undefined ? undefined : metadataIn(metadata),
  });
}

/** A template is an Env or a pool. One that does not exist has no sandboxes. */
function madeFrom(sources: CreateSources, caller: Caller, template: string): Pick<ListSandboxes, "env" | "pool"> {
  try {
    const { kind, object } = sources.get(caller, template);
    return { [kind]: object.metadata.name ?? "" };
  } catch (error) {
    if (isServiceError(error, "not_found")) return { pool: template };
    throw error;
  }
}

function wantedStatus({ state }: ListQuery): readonly SandboxRecordStatus[] {
  const names = (typeof state === "string" ? [state] : (state ?? ["running", "paused"])).flatMap((text) => text.split(","));
  return names.flatMap((name) => {
    const statuses = statusesOf[name.trim()];
    if (statuses === undefined) throw invalid("state", `must be running or paused, not ${JSON.stringify(name)}`);
    return statuses;
  });
}

/** The SDKs escape each side of a pair, then the list of pairs, then the query value. Only the last escape is already undone. */
export function metadataIn(query: string): Readonly<Record<string, string>> {
  try {
    const pairs = unescaped(query)
      .split("&")
      .filter((pair) => pair !== "");
    return Object.fromEntries(
      pairs.map((pair) => {
        const at = pair.indexOf("=");
        if (at < 1) throw invalid("metadata", `has a key without a value: ${JSON.stringify(pair)}`);
        return [unescaped(pair.slice(0, at)), unescaped(pair.slice(at + 1))] as const;
      }),
    );
  } catch (error) {
    if (error instanceof URIError) throw invalid("metadata", "is not correctly URL-encoded");
    throw error;
  }
}

function unescaped(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function invalid(field: string, why: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${why}`, { field });
}
