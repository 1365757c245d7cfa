/** From what happened on the wire to an ImageError. */
import { ImageError, type ImageErrorCode } from "../image-error.ts";
import { isClosedName, notAllowed, unreachableText } from "./outbound.ts";

/** The part of an answer that tells what went wrong. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly now: number;
}

/** `what` is the thing that was asked for, such as `the manifest of docker.io/library/alpine:3`. */
export function failureOf(what: string, { status, headers, body, now }: FailedAnswer): ImageError {
  const said = saidBy(body);
  const detail = said === "" ? undefined : `it says ${said}`;
  const retryAfterMs = retryAfter(headers["retry-after"], now);
  return new ImageError(codeOf(status), `${what}: the registry answered ${status}${adviceFor(status)}`, { retryAfterMs, detail });
}

function codeOf(status: number): ImageErrorCode {
  if (status === 401 || status === 403) return "unauthorized";
  if (status === 404) return "not_found";
  if (status === 429) return "rate_limited";
  return status >= 500 || status === 408 ? "registry_failed" : "registry_protocol";
}

function adviceFor(status: number): string {
  if (status === 401) return "; it wants credentials, or others: check the pull secret";
  if (status === 403) return "; these credentials do not allow it";
  return status === 429 ? "; too many requests" : "";
}

/** The first of the errors in the registry's own form, or nothing: bodies of proxies are pages of HTML. */
function saidBy(body: string): string {
  try {
    const { errors } = JSON.parse(body) as { errors?: { code?: unknown; message?: unknown }[] };
    const [first] = Array.isArray(errors) ? errors : [];
    const parts = [first?.code, first?.message].filter((part) => typeof part === "string" && part !== "");
    return parts.join(": ").slice(0, 300);
  } catch {
    return "";
  }
}

/** Seconds, or a date. */
function retryAfter(header: string | string[] | undefined, now: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const tlsCode = /CERT|^ERR_TLS|^ERR_SSL|^EPROTO$|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER/;

/** An error of the connection; tenants do not learn what is behind an address. Ours and the caller's abort pass unchanged. */
export function connectionFailure(what: string, url: URL, error: unknown): unknown {
  if (error instanceof ImageError || !(error instanceof Error)) return error;
  const code = codeIn(error);
  const detail = `${url.protocol}//${url.host}: ${error.message}`;
  if (isClosedName(code)) return notAllowed(what, detail, error);
  if (code !== undefined && tlsCode.test(code)) {
    return new ImageError("tls", `${what}: no trusted TLS connection to the registry`, { detail: `${detail} (${code})`, cause: error });
  }
  return new ImageError("unreachable", `${what}: ${unreachableText}`, { detail, cause: error });
}

function codeIn(error: Error): string | undefined {
  if ("code" in error && typeof error.code === "string") return error.code;
  return error.cause instanceof Error ? codeIn(error.cause) : undefined;
}

/** What may go better at the next try. */
export function isWorthRetrying(error: unknown): error is ImageError {
  return error instanceof ImageError && (error.code === "unreachable" || error.code === "rate_limited" || error.code === "registry_failed");
}
