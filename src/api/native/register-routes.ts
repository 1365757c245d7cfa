/** Registers routes with Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import { callerOf } from "../http/caller-of.ts";
import type { Route } from "./route.ts";
import { requestValidator } from "./validate-request.ts";

export const apiBase = "/v1";

/** Changes the validator of this Fastify instance, so use a separate instance. */
export function registerRoutes(app: FastifyInstance, routes: readonly Route[]): void {
  app.setValidatorCompiler(({ schema, httpPart }) => requestValidator(schema as TObject, httpPart ?? "body"));
  if (routes.some(({ bytes }) => bytes !== undefined)) {
    app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  }
  for (const one of routes) {
    const { params, query: querystring, headers, body } = one;
    app.route({
      method: one.method,
      url: `${apiBase}${one.path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
      // A HEAD request would start a stream that nothing reads or ends.
      exposeHeadRoute: false,
      config: { public: one.public ?? false },
      ...(one.bytes !== undefined && { bodyLimit: one.bytes }),
      schema: {
        ...(params && { params }),
        ...(querystring && { querystring }),
        ...(headers && { headers }),
        ...(body && { body }),
      },
      handler: (request, reply) => serve(one, request, reply),
    });
  }
}

async function serve(one: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { params, query, body, headers } = request;
  reply.code(one.answers[0].status);
  try {
    const answer = await one.handle({ caller: () => callerOf(request), params, query, body, headers, request, reply });
    return reply.sent ? undefined : reply.send(answer);
  } catch (error) {
    throw withRequestField(one, body, isServiceError(error) ? error : ofGone(request, error));
  }
}

/** Work that stopped because its client disconnected is not a failure of ours. */
function ofGone({ raw }: FastifyRequest, error: unknown): unknown {
  return raw.socket.destroyed ? new ServiceError("canceled", "the client disconnected", { cause: error }) : error;
}

/** Services name a wrong field by their own name; the answer names its place in the request. */
function withRequestField(one: Route, body: unknown, error: unknown): unknown {
  if (!isServiceError(error) || error.details.field === undefined) return error;
  const { code, message, details, cause } = error;
  const known = error.details.field;
  const field = requestField(one, body, known);
  const said = message.startsWith(`${known} `) ? field + message.slice(known.length) : message;
  return new ServiceError(code, said, { ...details, field, cause });
}

function requestField({ fieldOf, query, params }: Route, body: unknown, serviceField: string): string {
  const field = fieldOf?.(serviceField, body) ?? serviceField;
  if (Object.hasOwn(query?.properties ?? {}, field)) return `query.${field}`;
  return Object.hasOwn(params?.properties ?? {}, field) ? `path.${field}` : field;
}
