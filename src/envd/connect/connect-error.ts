import type { ConnectCode } from "#envd-protocol/connect-code.ts";

/** What a caller is told when a call fails. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
  readonly code: ConnectCode;

  constructor(code: ConnectCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** An unexpected error keeps its message: daemon and caller belong to the same sandbox, so it reveals nothing to others. */
export function asConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  return new ConnectError("internal", error instanceof Error ? error.message : String(error));
}
