import type { Command } from "../command.ts";
import type { CliContext, GatewayWish } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { certificateOf, given, hostsOf, isDnsName, limitFlags, limitsOf, portOf } from "../server-settings.ts";

/** Default address of the APIs. */
const defaultPort = 8099;
const defaultHost = "127.0.0.1";
const defaultDomain = "agentbox.localhost";

export const up: Command = {
  usage: ["up [--listen ADDRESS] [--port PORT] [--log-format FORMAT] [--no-sandboxes] [GATEWAY] [LIMITS]"],
  about:
    "Runs AgentBox in the foreground until Ctrl-C. Its data is in AGENTBOX_HOME and is kept for the next start. " +
    "The first start creates an admin key, shows it once and stores it in keys/admin.key in the data folder, for this user's commands. " +
    "DATABASE_URL is the database of the history: postgres://… or a file (default: history.db in the data folder). " +
    "OTEL_EXPORTER_OTLP_ENDPOINT enables tracing.",
  examples: [
    { does: "Start with the default folder and port", line: "agentbox up" },
    { does: "Start a second one beside it", line: "AGENTBOX_HOME=/tmp/other agentbox up --port 8100" },
    { does: "Serve other machines too (put TLS in front: API keys are sent in headers)", line: "agentbox up --listen 0.0.0.0" },
  ],
  flags: {
    port: { short: "p", value: "PORT", help: `Port of the APIs (default: AGENTBOX_PORT or ${defaultPort}; 0: any free one)` },
    listen: { value: "ADDRESS", help: `Local address to listen on (default: AGENTBOX_LISTEN or ${defaultHost})` },
    domain: { value: "NAME", help: `Domain of the sandboxes' hosts: <port>-<id>.NAME (default: AGENTBOX_DOMAIN or ${defaultDomain})` },
    "gateway-port": { value: "PORT", help: "Plain HTTP port of the gateway (default: AGENTBOX_GATEWAY_PORT or the APIs' + 1)" },
    "gateway-tls-port": { value: "PORT", help: "TLS port of the gateway (default: AGENTBOX_GATEWAY_TLS_PORT or the APIs' + 2)" },
    "tls-cert": { value: "FILE", help: "Certificate for *.DOMAIN in PEM (default: AGENTBOX_TLS_CERT, or one that AgentBox creates)" },
    "tls-key": { value: "FILE", help: "Private key of the certificate (default: AGENTBOX_TLS_KEY)" },
    "log-format": {
      value: "FORMAT",
      choices: ["json", "text"],
      help: "Write log lines to stderr, in this form (default: JSON to the file logs/agentbox.log in the data folder)",
    },
    "no-sandboxes": { help: "Serve only objects and API keys: pods are stored but not run" },
    ...limitFlags,
    "webhook-hosts": {
      value: "HOSTS",
      help: "Hosts that webhooks may be at though their addresses are not public, such as hooks.internal:8443,10.0.0.5:* (default: AGENTBOX_WEBHOOK_HOSTS, or none)",
    },
  },
  run: (context, args) => {
    const host = given(context, args, "listen").text ?? defaultHost;
    const port = portOf(context, args, "port") ?? defaultPort;
    return context.serve({
      host,
      port,
      gateway: { host, ...gatewayOf(context, args, port) },
      logFormat: logFormatOf(args),
      sandboxes: !args.has("no-sandboxes"),
      ...limitsOf(context, args),
      webhookHosts: hostsOf(context, args, "webhook-hosts"),
    });
  },
};

/** The gateway's ports follow the API's port unless given: if that is any free port (0), so are these. */
function gatewayOf(context: CliContext, args: Arguments, apiPort: number): Omit<GatewayWish, "host"> {
  const beside = (by: number): number => (apiPort === 0 || apiPort + by > 65_535 ? 0 : apiPort + by);
  const domain = given(context, args, "domain").text ?? defaultDomain;
  if (!isDnsName(domain)) throw new UsageError(`--domain must be a DNS name in lower case without a port, not ${JSON.stringify(domain)}`);
  return {
    port: portOf(context, args, "gateway-port") ?? beside(1),
    tlsPort: portOf(context, args, "gateway-tls-port") ?? beside(2),
    domain,
    ...certificateOf(context, args),
  };
}

function logFormatOf(args: Arguments): "json" | "text" | undefined {
  const format = args.text("log-format");
  return format === "json" || format === "text" ? format : undefined;
}
