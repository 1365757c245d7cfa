/**
 * One operation of the native API: its request, its answers, its errors, and its handler. The server's routes (register-routes.ts) and
 * the OpenAPI document are made from the same definition, so that they cannot differ.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "#model/error-codes.ts";
import type { Caller } from "#services/caller.ts";

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below /v1, as OpenAPI writes it: `/sandboxes/{sandboxId}`. */
  readonly path: string;
  /** One word for programs that are made from the document, such as `createSandbox`. */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  /** Names in small letters. Headers that every request may have are not among them. */
  readonly headers?: TObject;
  /** May be left out where it has no required fields. */
  readonly body?: TSchema;
  /** The body is bytes, so many at most, and no JSON. */
  readonly bytes?: number;
  /** The first is what is answered when the handler says nothing else. */
  readonly answers: readonly [Answer, ...Answer[]];
  /** What can go wrong beside `commonErrors`. */
  readonly errors: readonly ErrorCode[];
  /** Answered without a key. */
  readonly public?: boolean;
  /** The name in a request of what a service calls otherwise. Names of the query need not be told here: they get their prefix. */
  readonly fieldOf?: (serviceField: string, body: unknown) => string;
  /** Resolves with the body, which may be a stream, or with nothing for an empty answer and where it has taken the connection. */
  readonly handle: (exchange: Exchange) => Promise<unknown>;
}

export interface Answer {
  readonly status: number;
  readonly description: string;
  /** Left out: no body. */
  readonly schema?: TSchema;
  /** JSON when left out; else the schema is of one line or event of the stream. */
  readonly contentType?: string;
}

/** One request under way; the parts are what the schemas say. */
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
  // What the handler is given has passed the schemas that its types are made from.
  return definition as unknown as Route;
}

/** What any request can be answered, so that no route need say it. */
export const commonErrors: readonly ErrorCode[] = [
  "invalid_request",
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "unavailable",
  "internal",
];
