/** Settings of servers: each is a flag, or an environment variable with the same name. */
import { resolve } from "node:path";
import { parseDuration } from "#model/duration.ts";
import type { CliContext, GatewayWish, ServeLimits } from "./context.ts";
import { UsageError } from "./failure.ts";
import type { Arguments, Flags } from "./flags.ts";

export const limitFlags: Flags = {
  retention: { value: "DURATION", help: "How long the history keeps ended sandboxes (default: AGENTBOX_RETENTION or 720h)" },
  "audit-retention": { value: "DURATION", help: "How long the audit log keeps an entry (default: AGENTBOX_AUDIT_RETENTION or 2160h)" },
  "audit-entries": {
    value: "NUMBER",
    help: "Entries that the audit log keeps of each team; 0: no audit log (default: AGENTBOX_AUDIT_ENTRIES or 100000)",
  },
  "log-retention": {
    value: "DURATION",
    help: "How long logs of ended sandboxes are kept; 0s: not at all (default: AGENTBOX_LOG_RETENTION, or 168h on one machine and 0s on clusters)",
  },
  "log-size": { value: "KIB", help: "KiB kept of the log of each ended sandbox, from its end (default: AGENTBOX_LOG_SIZE or 1024)" },
  "rate-limit": { value: "NUMBER", help: "Requests per second for each API key; 0: no limit (default: AGENTBOX_RATE_LIMIT or 1000)" },
  "rate-burst": { value: "NUMBER", help: "Requests at once for each API key (default: AGENTBOX_RATE_BURST or twice the rate)" },
  "max-uses": { value: "NUMBER", help: "Number of sandboxes after which a pod is replaced (default: AGENTBOX_MAX_USES or 100)" },
  "adopt-pools": {
    help: "Give every pool without an Env one of its own name (default: AGENTBOX_ADOPT_POOLS, or only pools that ask for it)",
  },
  "queue-size": { value: "NUMBER", help: "Creates that may wait for a pod at once (default: AGENTBOX_QUEUE_SIZE or 8192)" },
  "max-timeout": { value: "DURATION", help: "Longest timeout that E2B clients may request (default: AGENTBOX_MAX_TIMEOUT or 720h)" },
  "max-open": { value: "NUMBER", help: "Open requests and connections to all sandboxes (default: AGENTBOX_MAX_OPEN or 20000)" },
  plugins: {
    value: "FILE",
    help: "Plugins, in JSON or YAML (default: AGENTBOX_PLUGINS, or plugins.json or plugins.yaml in the data folder)",
  },
  oidc: {
    value: "FILE",
    help: "OpenID Connect provider by which people sign in to the console, in YAML or JSON (default: AGENTBOX_OIDC, or none)",
  },
  "max-open-each": { value: "NUMBER", help: "Open requests and connections to one sandbox (default: AGENTBOX_MAX_OPEN_EACH or 4000)" },
};

export function limitsOf(context: CliContext, args: Arguments): ServeLimits {
  const number = (flag: string, least: number): number | undefined =>
    wholeNumber(given(context, args, flag), least, Number.MAX_SAFE_INTEGER, "a number");
  const limits = {
    retentionMs: duration(given(context, args, "retention")),
    auditRetentionMs: duration(given(context, args, "audit-retention")),
    auditEntries: number("audit-entries", 0),
    logRetentionMs: duration(given(context, args, "log-retention")),
    logSizeKib: wholeNumber(given(context, args, "log-size"), 1, 65_536, "a number"),
    rateLimit: number("rate-limit", 0),
    rateBurst: number("rate-burst", 1),
    maxUses: number("max-uses", 1),
    adoptPools: onOrOff(given(context, args, "adopt-pools")),
    queueSize: number("queue-size", 0),
    maxTimeoutMs: longTimeout(given(context, args, "max-timeout")),
    maxOpen: number("max-open", 1),
    maxOpenOfSandbox: number("max-open-each", 1),
    plugins: fileOf(context, given(context, args, "plugins")),
    oidc: fileOf(context, given(context, args, "oidc")),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** `host`, `host:port` or `host:*`, with commas between them. */
export function hostsOf(context: CliContext, args: Arguments, flag: string): readonly string[] | undefined {
  const { text, from } = given(context, args, flag);
  const hosts = text?.split(",").map((host) => host.trim());
  const wrong = hosts?.find((host) => !/^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?:\d{1,5}|\*))?$/.test(host));
  if (wrong === undefined) return hosts;
  throw new UsageError(`${from} must name hosts as host, host:port or host:*, with commas between them, not ${JSON.stringify(wrong)}`);
}

function fileOf({ cwd }: CliContext, { text }: Given): string | undefined {
  return text === undefined ? undefined : resolve(cwd, text);
}

export function durationOf(context: CliContext, args: Arguments, flag: string): number | undefined {
  return duration(given(context, args, flag));
}

export function portOf(context: CliContext, args: Arguments, flag: string): number | undefined {
  return wholeNumber(given(context, args, flag), 0, 65_535, "a port");
}

/** Certificate and key files, which must be given together. */
export function certificateOf(context: CliContext, args: Arguments): Pick<GatewayWish, "certificate"> {
  const [certFile, keyFile] = [given(context, args, "tls-cert").text, given(context, args, "tls-key").text];
  if ((certFile === undefined) !== (keyFile === undefined)) throw new UsageError("--tls-cert and --tls-key must be given together");
  return certFile === undefined || keyFile === undefined ? {} : { certificate: { certFile, keyFile } };
}

export function isDnsName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text);
}

/** A setting and its source: the flag, else the environment. */
export interface Given {
  readonly text: string | undefined;
  readonly from: string;
}

export function given(context: CliContext, args: Arguments, flag: string): Given {
  if (args.has(flag)) return { text: args.text(flag), from: `--${flag}` };
  const variable = `AGENTBOX_${flag.toUpperCase().replaceAll("-", "_")}`;
  const value = context.env[variable];
  return { text: value === "" ? undefined : value, from: variable };
}

function onOrOff({ text, from }: Given): boolean | undefined {
  if (text === undefined || text === "true" || text === "false") return text === undefined ? undefined : text === "true";
  throw new UsageError(`${from} must be true or false, not ${JSON.stringify(text)}`);
}

function wholeNumber({ text, from }: Given, least: number, most: number, what: string): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new UsageError(`${from} must be ${what} ${range}, not ${JSON.stringify(text)}`);
}

/** A timeout may be from one second to 30 days. */
const [leastTimeoutMs, mostTimeoutMs] = [1000, 30 * 24 * 3_600_000];

function longTimeout(setting: Given): number | undefined {
  const ms = duration(setting);
  if (ms === undefined || (ms >= leastTimeoutMs && ms <= mostTimeoutMs)) return ms;
  throw new UsageError(`${setting.from} must be from 1s to 720h, not ${JSON.stringify(setting.text)}`);
}

function duration({ text, from }: Given): number | undefined {
  if (text === undefined) return undefined;
  try {
    return parseDuration(text);
  } catch (error) {
    throw new UsageError(`${from}: ${(error as Error).message}`);
  }
}
