import type { Account } from "#envd/accounts/accounts.ts";

/** The search path for programs if neither image nor caller sets one. */
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** Internal variables of the daemon. */
const ours = /^AGENTBOX_/;

export interface EnvironmentSources {
  /** Variables that image and pod gave the daemon. */
  readonly own: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  /** Variables that the sandbox was armed with. */
  readonly sandbox: Readonly<Record<string, string>>;
  /** Variables of the caller. */
  readonly call?: Readonly<Record<string, string>>;
}

/** The environment of a command; later sources win. */
export function commandEnvironment({ own, account, sandbox, call = {} }: EnvironmentSources): Readonly<Record<string, string>> {
  const kept = Object.entries(own).filter((entry): entry is [string, string] => entry[1] !== undefined && !ours.test(entry[0]));
  return {
    PATH: usualPath,
    ...Object.fromEntries(kept),
    HOME: account.home,
    USER: account.name,
    LOGNAME: account.name,
    ...sandbox,
    ...call,
  };
}

/** Variables that describe the sandbox to its programs; also the answer of GET /envs. */
export function sandboxVariables(sandboxId: string, given: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return { E2B_SANDBOX: "true", E2B_SANDBOX_ID: sandboxId, ...given };
}
