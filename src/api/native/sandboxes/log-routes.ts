/** Logs of a sandbox's containers: in one answer, or as a stream. */
import { Readable } from "node:stream";
import type { Logger } from "#lib/log.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Caller } from "#services/caller.ts";
import type { LogRequest, SandboxService } from "#services/sandbox-service.ts";
import { isServiceError } from "#services/service-error.ts";
import { requestSignal, streamSignal } from "#api/http/request-signal.ts";
import { spanMs } from "./create-command.ts";
import { LogLines, NewestLines } from "./log-lines.ts";
import { type Route, route } from "#api/native/route.ts";
import { type LogQuery, logLineSchema, logQuery, logSchema } from "#api/native/schemas/execution.ts";
import { sandboxParams } from "#api/native/schemas/sandbox.ts";

export interface LogRoutesDeps {
  readonly sandboxes: SandboxService;
  readonly log: Logger;
}

const usualTail = 1000;
/** Characters in one answer. */
const mostAtOnce = 4 * 1024 * 1024;

export function logRoutes(deps: LogRoutesDeps): readonly Route[] {
  return [readLog(deps), followLog(deps)];
}

function readLog({ sandboxes }: LogRoutesDeps): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/logs",
    name: "readLog",
    summary: "Read the log of a container of a sandbox",
    params: sandboxParams,
    query: logQuery,
    answers: [{ status: 200, description: "The newest lines.", schema: logSchema }],
    errors: ["not_found", "conflict"],
    handle: async ({ caller, params, query, reply }) => {
      const signal = requestSignal(reply);
      const [lines, newest] = [new LogLines(), new NewestLines(mostAtOnce)];
      for await (const piece of sandboxes.logs(caller(), params.sandboxId, { ...logRequest(query), signal })) {
        for (const part of lines.add(piece)) newest.add(part);
        if (signal.aborted) break;
      }
      for (const part of lines.end()) newest.add(part);
      return newest.result();
    },
  });
}

function followLog({ sandboxes, log }: LogRoutesDeps): Route {
  return route({
    method: "GET",
    path: "/sandboxes/{sandboxId}/logs/stream",
    name: "followLog",
    summary: "Follow the log of a container of a sandbox",
    description: "One JSON object per line. The last one gives the reason why the stream ends; if it is missing, the connection broke.",
    params: sandboxParams,
    query: logQuery,
    answers: [{ status: 200, description: "Lines.", schema: logLineSchema, contentType: "application/x-ndjson" }],
    errors: ["not_found", "conflict"],
    handle: async ({ caller, params, query, request, reply }) => {
      const signal = streamSignal(request, reply);
      const pieces = followed(sandboxes, caller(), params.sandboxId, { ...logRequest(query), follow: signal });
      // The first read shows if the sandbox exists. Until then an error can still be an ordinary answer (W13).
      const first = await pieces.next();
      const told = { signal, onDefect: (error: unknown): void => log.error({ error, sandboxId: params.sandboxId }, "log stream failed") };
      reply.type("application/x-ndjson").header("x-accel-buffering", "no");
      return Readable.from(linesOf(first, pieces, told), { objectMode: false });
    },
  });
}

function followed(sandboxes: SandboxService, caller: Caller, sandboxId: string, request: LogRequest): AsyncIterator<Buffer> {
  return sandboxes.logs(caller, sandboxId, request)[Symbol.asyncIterator]();
}

function logRequest({ container, tail = usualTail, since, source }: LogQuery): LogRequest {
  return { tail, ...withoutUndefined({ container, source, sinceMs: spanMs(since) }) };
}

interface Told {
  readonly signal: AbortSignal;
  readonly onDefect: (error: unknown) => void;
}

interface Meta {
  readonly reason: "ended" | "shutdown" | "error";
  readonly code?: string;
  readonly message?: string;
}

/** Reads the next piece only after the client has taken the last one, so a slow client keeps at most one piece in our memory. */
async function* linesOf(first: IteratorResult<Buffer>, pieces: AsyncIterator<Buffer>, told: Told): AsyncGenerator<string, void> {
  const lines = new LogLines();
  let count = 0;
  const written = (parts: Iterable<{ readonly line: string; readonly partial: boolean }>): string => {
    let text = "";
    for (const { line, partial } of parts) {
      text += `${JSON.stringify(partial ? { line, partial } : { line })}\n`;
      if (!partial) count++;
    }
    return text;
  };
  let meta: Meta = { reason: "ended" };
  try {
    for (let turn = first; turn.done !== true; turn = await pieces.next()) {
      const text = written(lines.add(turn.value));
      if (text !== "") yield text;
    }
    if (told.signal.aborted) meta = { reason: "shutdown" };
  } catch (error) {
    meta = failureMeta(error, told);
  } finally {
    await pieces.return?.();
  }
  const { reason, ...more } = meta;
  yield `${written(lines.end())}${JSON.stringify({ _meta: { reason, lines: count, ...more } })}\n`;
}

function failureMeta(error: unknown, { onDefect }: Told): Meta {
  if (isServiceError(error)) return { reason: "error", code: error.code, message: error.message };
  onDefect(error);
  return { reason: "error", code: "internal", message: "internal error; the server's log has the reason" };
}
