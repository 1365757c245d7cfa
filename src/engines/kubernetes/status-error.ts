/**
 * Every way in which a request can fail, as an ApiError: the API's own Status, whatever a proxy in between answers instead,
 * and no answer at all.
 */
import { ApiError, httpStatusOf, type ApiErrorReason, type StatusCause } from "#kube/api-error.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";

/** What came back instead of success. */
export interface FailedAnswer {
  /** Method and path, for messages. */
  readonly request: string;
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** metav1.Status, as far as it is of use. */
interface Status {
  readonly kind?: unknown;
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly group?: string;
    readonly kind?: string;
    readonly uid?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly field?: string; readonly reason?: string; readonly message?: string }[];
  };
}

export function errorFromAnswer(answer: FailedAnswer, now: number): ApiError {
  const fromHeader = retryAfterMs(answer.retryAfter, now);
  const status = parseStatus(answer.text);
  if (status !== undefined) return errorFromStatus({ code: answer.status, ...status }, fromHeader);
  const said = answer.text
    .replaceAll(/<(script|style)[^]*?<\/\1>|<[^>]*>/gi, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  const sort = answer.contentType === "" ? "" : ` (${answer.contentType})`;
  const message = `${answer.request} was answered with ${answer.status}${sort} and not by a Kubernetes API: ${said.slice(0, 200) || "no text"}`;
  return new ApiError(reasonOf(answer.status), message, withoutUndefined({ code: answer.status, retryAfterMs: fromHeader }));
}

/** Also for ERROR events of a watch, whose object is a Status. */
export function errorFromStatus(status: Status, retryAfterHeaderMs?: number): ApiError {
  const code = status.code ?? 500;
  const reason = isKnown(status.reason) ? status.reason : reasonOf(code);
  const { name, group, kind, uid, retryAfterSeconds, causes } = status.details ?? {};
  const waitMs = retryAfterHeaderMs ?? (retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000);
  const details = withoutUndefined({ code, causes: causes?.map(statusCause), retryAfterMs: waitMs, name, group, kind, uid });
  return new ApiError(reason, status.message ?? `the server answered ${code} and gave no reason`, details);
}

/** For a connection that failed before or during the answer. `server` is an origin, or the path of a unix socket. */
export function errorFromSocket(request: string, server: string, error: unknown): ApiError {
  if (causeCode(error) === "UND_ERR_RES_EXCEEDED_MAX_SIZE") {
    return new ApiError("Unknown", `${request}: the answer of ${server} is larger than this client takes; lists can be read in parts`, {
      cause: error,
    });
  }
  const said = error instanceof Error ? error.message || causeCode(error) : String(error);
  return new ApiError("Unreachable", `${request} got no answer from ${server}: ${said ?? "the connection failed"}`, { cause: error });
}

/** True when the failure came before anything was sent, so that even a create may be tried again. */
export function neverSent(error: ApiError): boolean {
  return error.reason === "Unreachable" && unsentCodes.has(causeCode(error.cause) ?? "");
}

const unsentCodes = new Set([
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT", // a unix socket that is not there
  "UND_ERR_CONNECT_TIMEOUT",
]);

function causeCode(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** The header holds seconds or a date. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function parseStatus(text: string): Status | undefined {
  try {
    const parsed = JSON.parse(text) as Status | null;
    return parsed?.kind === "Status" ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function statusCause(cause: { readonly field?: string; readonly reason?: string; readonly message?: string }): StatusCause {
  return { field: cause.field ?? "", reason: cause.reason ?? "", message: cause.message ?? "" };
}

function isKnown(reason: string | undefined): reason is ApiErrorReason {
  return reason !== undefined && reason !== "" && Object.hasOwn(httpStatusOf, reason);
}

const reasonByCode: Readonly<Record<number, ApiErrorReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  502: "ServiceUnavailable",
  503: "ServiceUnavailable",
  504: "Timeout",
};

function reasonOf(code: number): ApiErrorReason {
  return reasonByCode[code] ?? "Unknown";
}
