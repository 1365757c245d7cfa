/** One request to the native API, and what sends it. */
export interface ClientRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path from /v1 on, already escaped. */
  readonly path: string;
  /** Undefined values are left out; each item of a list is sent. */
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly body?: unknown;
  /** Raw bytes instead of a JSON body. */
  readonly bytes?: Blob | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Both throw ClientError. */
export interface Transport {
  /** The body of a successful answer; undefined if it has none. */
  json<Result>(request: ClientRequest): Promise<Result>;
  /** A successful answer whose body is not read yet. */
  answer(request: ClientRequest): Promise<Response>;
}
