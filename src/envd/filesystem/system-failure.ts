import { ConnectError } from "#envd/connect/connect-error.ts";
import { failureKind, failureText, type FailureKind } from "#envd/files/file-failure.ts";
import type { ConnectCode } from "#envd-protocol/connect-code.ts";

const codes: Readonly<Record<FailureKind, ConnectCode>> = {
  "not-found": "not_found",
  exists: "already_exists",
  "bad-path": "invalid_argument",
  forbidden: "permission_denied",
  full: "resource_exhausted",
  busy: "failed_precondition",
  other: "internal",
};

/** Translates system errors about a path into errors of the protocol. */
export function systemFailure(path: string, error: unknown): ConnectError {
  return error instanceof ConnectError ? error : new ConnectError(codes[failureKind(error)], `${path}: ${failureText(error)}`);
}
