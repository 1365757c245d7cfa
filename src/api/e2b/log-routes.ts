/** What the sandbox's own container has written: the daemon, and the image's entrypoint. What commands write goes to who runs them. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import { alive } from "./sandbox-body.ts";
import type { E2bServices } from "./e2b-face.ts";
import { idOf } from "./sandbox-routes.ts";

const logQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
  direction: Type.Optional(Type.String()),
  /** The least that is wanted; all lines are of the level info. */
  level: Type.Optional(Type.String()),
  search: Type.Optional(Type.String()),
});
const defaultLines = 1000;
const longestBytes = 1024 * 1024;

export function logRoutes(app: FastifyInstance, services: E2bServices): void {
  app.get("/sandboxes/:sandboxID/logs", { schema: { querystring: logQuery } }, async (request) => {
    const entries = await entriesOf(services, request);
    return { logs: entries.map(({ timestamp, message }) => ({ timestamp, line: message })), logEntries: entries };
  });
  app.get("/v2/sandboxes/:sandboxID/logs", { schema: { querystring: logQuery } }, async (request) => ({
    logs: await entriesOf(services, request),
  }));
}

interface LogEntry {
  readonly timestamp: string;
  readonly level: "info";
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Lines carry no time of their own: theirs is that of the sandbox's start. */
async function entriesOf({ sandboxes }: E2bServices, request: FastifyRequest): Promise<readonly LogEntry[]> {
  const caller = callerOf(request);
  const { sandboxId, startedAt, claimedAt } = alive(await sandboxes.view(caller, idOf(request)));
  const { limit = defaultLines, direction, level, search = "" } = request.query as Static<typeof logQuery>;
  if (limit === 0 || level === "warn" || level === "error") return [];
  let text = Buffer.alloc(0);
  for await (const piece of sandboxes.logs(caller, sandboxId, search === "" ? { tail: limit } : {}))
    text = Buffer.concat([text, piece]).subarray(-longestBytes);
  const lines = text
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "" && line.includes(search))
    .slice(-limit);
  return (direction === "backward" ? lines.toReversed() : lines).map((message) => ({
    timestamp: startedAt ?? claimedAt,
    level: "info",
    message,
    fields: {},
  }));
}
