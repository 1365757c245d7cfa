/**
 * One operation of the native API: its request, answers, errors and handler. The server's routes (register-routes.ts) and the OpenAPI document are
 * generated from the same definition, so they cannot differ.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "#model/error-codes.ts";
import type { Caller } from "#services/caller.ts";

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below /v1, as OpenAPI writes it: `/sandboxes/{sandboxId}`. */
  readonly path: string;
  /** The operation id for generated clients, such as `createSandbox`. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  /** Names in lower case, without the headers that every request may have. */
  readonly headers?: TObject;
  /** May be left out if it has no required fields. */
  readonly body?: TSchema;
  /** The body is raw bytes, at most this many, instead of JSON. */
  readonly bytes?: number;
  /** The first is the default answer. */
  readonly answers: readonly [Answer, ...Answer[]];
  /** Errors in addition to `commonErrors`. */
  readonly errors: readonly ErrorCode[];
  /** Needs no key. */
  readonly public?: boolean;
  /** Maps field names of a service to names in the request. Names of the query are not listed: they get their prefix. */
  readonly fieldOf?: (serviceField: string, body: unknown) => string;
  /** Resolves with the body, which may be a stream. Resolves with nothing for an empty answer, or if the handler took over the connection. */
  readonly handle: (exchange: Exchange) => Promise<unknown>;
}

export interface Answer {
  readonly status: number;
  readonly description: string;
  /** Left out: no body. */
  readonly schema?: TSchema;
  /** JSON when left out; otherwise the schema describes one line or event of the stream. */
  readonly contentType?: string;
}

/** One request; the types of its parts come from the schemas. */
export interface Exchange<Params = unknown, Query = unknown, Body = unknown, Headers = unknown> {
  /** Throws unauthenticated when the request has no known caller. */
  readonly caller: () => Caller;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type Of<Schema> = Schema extends TSchema ? Static<Schema> : unknown;

interface TypedRoute<Params, Query, Body, Headers> extends Omit<Route, "params" | "query" | "body" | "headers" | "fieldOf" | "handle"> {
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly headers?: Headers;
  readonly fieldOf?: (serviceField: string, body: Of<Body>) => string;
  readonly handle: (exchange: Exchange<Of<Params>, Of<Query>, Of<Body>, Of<Headers>>) => Promise<unknown>;
}

/** A route whose handler sees the types of its schemas. */
export function route<
  const Params extends TObject | undefined = undefined,
  const Query extends TObject | undefined = undefined,
  const Body extends TSchema | undefined = undefined,
  const Headers extends TObject | undefined = undefined,
>(definition: TypedRoute<Params, Query, Body, Headers>): Route {
  // The handler's arguments have passed the schemas that its types come from.
  return definition as unknown as Route;
}

/** Errors that every request can get, so that routes need not repeat them. */
export const commonErrors: readonly ErrorCode[] = [
  "invalid_request",
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "unavailable",
  "internal",
];
