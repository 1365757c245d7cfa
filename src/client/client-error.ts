import { type ErrorCode, type ErrorDetails, errorCodes } from "#model/error-codes.ts";

/** An error answer of the API, or no answer (`unreachable`). Decide by `code`, never by text. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ErrorCode | "unreachable";
  /** 0 when there was no answer. */
  readonly status: number;
  readonly details: ErrorDetails;
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined;

  constructor(code: ClientError["code"], message: string, more: ClientErrorFacts = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.status = more.status ?? 0;
    this.details = more.details ?? {};
    this.requestId = more.requestId;
  }
}

export interface ClientErrorFacts {
  readonly status?: number;
  readonly details?: ErrorDetails;
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

export function isClientError(error: unknown, ...codes: readonly ClientError["code"][]): error is ClientError {
  return error instanceof ClientError && (codes.length === 0 || codes.includes(error.code));
}

/** From problem details; any other answer (of a proxy, for example) is described by its status. */
export function errorFromAnswer(status: number, text: string, requestId: string | undefined): ClientError {
  const problem = problemIn(text);
  if (problem === undefined)
    return new ClientError("internal", `the server answered ${status} without problem details`, { status, requestId });
  const { code, detail, field, retryAfterSeconds, available, pool, env } = problem;
  const details = Object.fromEntries(
    Object.entries({ field, retryAfterSeconds, available, pool, env }).filter(([, value]) => value !== undefined),
  ) as ErrorDetails;
  return new ClientError(code, detail, { status, requestId, details });
}

type Problem = ErrorDetails & { readonly code: ErrorCode; readonly detail: string };

function problemIn(text: string): Problem | undefined {
  try {
    const value = JSON.parse(text) as Partial<Problem> | null;
    const known = errorCodes.some((code) => code === value?.code) && typeof value?.detail === "string";
    return known ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}
