/** How each API writes its failures. Each face installs its own shape; statuses and headers come from one place. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "#lib/log.ts";
import { type Failure, failureOf } from "./failure.ts";

export type ErrorShape = (failure: Failure, requestId: string) => ErrorBody;

export interface ErrorBody {
  readonly contentType: string;
  readonly body: object;
  /** Beside those that every face has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The failure that was answered, for the audit line and other code that runs after the answer. */
const failures = new WeakMap<FastifyRequest, Failure>();

export function failureAnswered(request: FastifyRequest): Failure | undefined {
  return failures.get(request);
}

/** From here on, failures of this instance and the plugins inside it have this shape. */
export function useErrorShape(app: FastifyInstance, shape: ErrorShape, log: Logger): void {
  app.setErrorHandler((error, request, reply) => {
    const failure = failureOf(error);
    // Logs the route and not the path: a query may contain private data.
    if (failure.defect)
      log.error({ error, requestId: request.id, route: request.routeOptions.url, method: request.method }, "request failed");
    return answerFailure(reply, failure, shape);
  });
}

export function answerFailure(reply: FastifyReply, failure: Failure, shape: ErrorShape): FastifyReply {
  const { request } = reply;
  failures.set(request, failure);
  const { contentType, body, headers = {} } = shape(failure, request.id);
  reply.headers(headers);
  if (failure.status === 401) reply.header("www-authenticate", "Bearer");
  if (failure.details.retryAfterSeconds !== undefined) {
    reply.header("retry-after", String(Math.max(1, Math.ceil(failure.details.retryAfterSeconds))));
  }
  if (failure.allow !== undefined) reply.header("allow", failure.allow.join(", "));
  // Serialized here: a route's reply schema must not filter the fields of an error.
  return reply.code(failure.status).type(contentType).serializer(String).send(JSON.stringify(body));
}
