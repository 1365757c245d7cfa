import type { Clock } from "#lib/clock.ts";
import type { Account, Accounts } from "#envd/accounts/accounts.ts";
import { resolvePath } from "#envd/accounts/resolve-path.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import type { MetadataStore } from "./metadata.ts";
import { BadUpload } from "./upload.ts";

export interface FileDeps {
  readonly state: ArmedState;
  readonly accounts: Accounts;
  readonly metadata: MetadataStore;
  readonly clock: Clock;
}

/** Throws BadUpload. */
export function pathResolver({ state }: Pick<FileDeps, "state">, account: Account): (path: string) => string {
  return (path) => {
    if (path.includes("\0")) throw new BadUpload("a path cannot contain a zero byte");
    return resolvePath(path, account, state.init.defaultWorkdir);
  };
}
