import type { Account } from "#envd/accounts/accounts.ts";

/** Where programs are looked for when neither image nor caller says. */
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** The daemon's own business. */
const ours = /^AGENTBOX_/;

export interface EnvironmentSources {
  /** What the image and the pod gave the daemon. */
  readonly own: Readonly<Record<string, string | undefined>>;
  readonly account: Account;
  /** What the sandbox was armed with. */
  readonly sandbox: Readonly<Record<string, string>>;
  /** What the caller asks for. */
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

/** What every program in the sandbox is told about it; also the answer of GET /envs. */
export function sandboxVariables(sandboxId: string, given: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return { E2B_SANDBOX: "true", E2B_SANDBOX_ID: sandboxId, ...given };
}
