import { parseDuration } from "#model/duration.ts";
import type { Command } from "../command.ts";
import type { CliContext, ServeLimits } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";

/** Where the APIs are when nobody says otherwise. */
const defaultPort = 8099;
const defaultHost = "127.0.0.1";

export const up: Command = {
  usage: ["up [--listen ADDRESS] [--port PORT] [--log-format FORMAT] [--no-sandboxes] [LIMITS]"],
  about:
    "Runs AgentBox in the foreground until Ctrl-C. Its data is kept in AGENTBOX_HOME and is there again at the next start.\n" +
    "The first start makes an admin key, shows it once and keeps it in keys/admin.key in the data folder, for this user's commands.\n" +
    "DATABASE_URL says where ended sandboxes are kept: postgres://… or a file (default: history.db in the data folder).\n" +
    "OTEL_EXPORTER_OTLP_ENDPOINT switches tracing on.",
  examples: [
    { does: "Start on the usual folder and port", line: "agentbox up" },
    { does: "A second one beside it", line: "AGENTBOX_HOME=/tmp/other agentbox up --port 8100" },
    { does: "For other machines too (put TLS in front of it: API keys travel in the headers)", line: "agentbox up --listen 0.0.0.0" },
  ],
  flags: {
    port: { short: "p", value: "PORT", help: `Port of the APIs (default: AGENTBOX_PORT or ${defaultPort}; 0: any free one)` },
    listen: { value: "ADDRESS", help: `Address of this machine to listen at (default: AGENTBOX_LISTEN or ${defaultHost})` },
    "log-format": {
      value: "FORMAT",
      choices: ["json", "text"],
      help: "Write log lines to stderr, in this form (default: JSON to the file logs/agentbox.log in the data folder)",
    },
    "no-sandboxes": { help: "Run only objects and API keys: pods are kept, and nothing runs them" },
    retention: { value: "DURATION", help: "How long ended sandboxes are remembered (default: AGENTBOX_RETENTION or 720h)" },
    "rate-limit": { value: "NUMBER", help: "Requests a second for each API key; 0: no limit (default: AGENTBOX_RATE_LIMIT or 1000)" },
    "rate-burst": { value: "NUMBER", help: "… and how many at once (default: AGENTBOX_RATE_BURST or twice as many)" },
    "max-uses": { value: "NUMBER", help: "Sandboxes that a pod carries before it is replaced (default: AGENTBOX_MAX_USES or 100)" },
    "queue-size": { value: "NUMBER", help: "Creates that may wait for a pod at a time (default: AGENTBOX_QUEUE_SIZE or 8192)" },
  },
  run: (context, args) => {
    return context.serve({
      host: given(context, args, "listen").text ?? defaultHost,
      port: wholeNumber(given(context, args, "port"), 0, 65_535, "a port") ?? defaultPort,
      logFormat: logFormatOf(args),
      sandboxes: !args.has("no-sandboxes"),
      ...limitsOf(context, args),
    });
  },
};

function limitsOf(context: CliContext, args: Arguments): ServeLimits {
  const number = (flag: string, least: number): number | undefined =>
    wholeNumber(given(context, args, flag), least, Number.MAX_SAFE_INTEGER, "a number");
  const limits = {
    retentionMs: duration(given(context, args, "retention")),
    rateLimit: number("rate-limit", 0),
    rateBurst: number("rate-burst", 1),
    maxUses: number("max-uses", 1),
    queueSize: number("queue-size", 0),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

/** A setting, and where it comes from: the flag, else the environment. */
interface Given {
  readonly text: string | undefined;
  readonly from: string;
}

function given(context: CliContext, args: Arguments, flag: string): Given {
  if (args.has(flag)) return { text: args.text(flag), from: `--${flag}` };
  const variable = `AGENTBOX_${flag.toUpperCase().replaceAll("-", "_")}`;
  const value = context.env[variable];
  return { text: value === "" ? undefined : value, from: variable };
}

function wholeNumber({ text, from }: Given, least: number, most: number, what: string): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new UsageError(`${from} must be ${what} ${range}, not ${JSON.stringify(text)}`);
}

function duration({ text, from }: Given): number | undefined {
  if (text === undefined) return undefined;
  try {
    return parseDuration(text);
  } catch (error) {
    throw new UsageError(`${from}: ${(error as Error).message}`);
  }
}

function logFormatOf(args: Arguments): "json" | "text" | undefined {
  const format = args.text("log-format");
  return format === "json" || format === "text" ? format : undefined;
}
