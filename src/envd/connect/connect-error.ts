import type { ConnectCode } from "#envd-protocol/connect-code.ts";

/** The error that a failed call returns to its caller. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
  readonly code: ConnectCode;

  constructor(code: ConnectCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The message of an unexpected error is passed on: daemon and caller belong to the same sandbox, so nothing is revealed to others. */
export function asConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  return new ConnectError("internal", error instanceof Error ? error.message : String(error));
}
