import type { Clock } from "#lib/clock.ts";
import type { Account } from "#envd/accounts/accounts.ts";
import { resolvePath } from "#envd/accounts/resolve-path.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import type { Call } from "#envd/connect/rpc-server.ts";
import { callerOf } from "#envd/process/process-service.ts";
import type { EntryDeps } from "./entry-info.ts";

export interface FilesystemDeps extends EntryDeps {
  readonly state: ArmedState;
  readonly clock: Clock;
  readonly helper: string;
}

/** Throws ConnectError. */
export function resolvedPath(deps: FilesystemDeps, call: Call, path = ""): { readonly path: string; readonly account: Account } {
  if (path.includes("\0")) throw new ConnectError("invalid_argument", "a path cannot contain a zero byte");
  const account = callerOf(deps, call);
  return { path: resolvePath(path, account, deps.state.init.defaultWorkdir), account };
}
