/** The output of the sandbox's main container: the daemon and the image's entrypoint. The output of commands goes to their callers. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import { callerOf } from "../http/caller-of.ts";
import { requestSignal } from "../http/request-signal.ts";
import type { E2bServices } from "./e2b-face.ts";
import { isBelow, logEntries, type LogEntry } from "./log-entry.ts";
import { alive } from "./sandbox-body.ts";
import { idOf } from "./sandbox-routes.ts";

const logQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
  direction: Type.Optional(Type.String()),
  /** The lowest level to show. */
  level: Type.Optional(Type.String()),
  search: Type.Optional(Type.String()),
});
const defaultLines = 1000;
const longestBytes = 1024 * 1024;

export function logRoutes(app: FastifyInstance, services: E2bServices): void {
  app.get("/sandboxes/:sandboxID/logs", { schema: { querystring: logQuery } }, async (request, reply) => {
    const entries = await entriesOf(services, request, requestSignal(reply));
    return { logs: entries.map(({ timestamp, message }) => ({ timestamp, line: message })), logEntries: entries };
  });
  app.get("/v2/sandboxes/:sandboxID/logs", { schema: { querystring: logQuery } }, async (request, reply) => ({
    logs: await entriesOf(services, request, requestSignal(reply)),
  }));
}

/** A search term may be anywhere, so the whole log is read. */
async function entriesOf({ sandboxes }: E2bServices, request: FastifyRequest, signal: AbortSignal): Promise<readonly LogEntry[]> {
  const caller = callerOf(request);
  const { sandboxId, startedAt, claimedAt } = alive(await sandboxes.view(caller, idOf(request)));
  const { limit = defaultLines, direction, level, search = "" } = request.query as Static<typeof logQuery>;
  if (limit === 0) return [];
  const isFiltered = search !== "" || level !== undefined;
  let text = Buffer.alloc(0);
  for await (const piece of sandboxes.logs(caller, sandboxId, isFiltered ? { signal } : { tail: limit, signal }))
    text = Buffer.concat([text, piece]).subarray(-longestBytes);
  const lines = text.toString("utf8").split("\n");
  const entries = logEntries(
    lines.filter((line) => line !== ""),
    startedAt ?? claimedAt,
  );
  const wanted = entries.filter((entry) => entry.message.includes(search) && !isBelow(entry.level, level)).slice(-limit);
  return direction === "backward" ? wanted.toReversed() : wanted;
}
