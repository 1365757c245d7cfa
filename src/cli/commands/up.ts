import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";

/** Where health and metrics are when nobody says otherwise. */
const defaultPort = 8099;

export const up: Command = {
  usage: ["up [--port PORT] [--log-format FORMAT] [--no-sandboxes]"],
  about: "Runs AgentBox in the foreground until Ctrl-C. Its data is kept in AGENTBOX_HOME and is there again at the next start.",
  examples: [
    { does: "Start on the usual folder and port", line: "agentbox up" },
    { does: "A second one beside it", line: "AGENTBOX_HOME=/tmp/other agentbox up --port 8100" },
  ],
  flags: {
    port: {
      short: "p",
      value: "PORT",
      help: `Port on 127.0.0.1 for health and metrics (default: AGENTBOX_PORT or ${defaultPort}; 0: any free one)`,
    },
    "log-format": {
      value: "FORMAT",
      choices: ["json", "text"],
      help: "Write log lines to stderr, in this form (default: JSON to the file logs/agentbox.log in the data folder)",
    },
    "no-sandboxes": { help: "Run only the object store: pods are kept, and nothing runs them" },
  },
  run: (context, args) => {
    return context.serve({ port: portOf(context, args), logFormat: logFormatOf(args), sandboxes: !args.has("no-sandboxes") });
  },
};

function portOf(context: CliContext, args: Arguments): number {
  const [given, from] = args.has("port") ? [args.text("port"), "--port"] : [context.env["AGENTBOX_PORT"], "AGENTBOX_PORT"];
  if (given === undefined || given === "") return defaultPort;
  if (!/^\d{1,5}$/.test(given) || Number(given) > 65_535)
    throw new UsageError(`${from} must be a port from 0 to 65535, not ${JSON.stringify(given)}`);
  return Number(given);
}

function logFormatOf(args: Arguments): "json" | "text" | undefined {
  const given = args.text("log-format");
  return given === "json" || given === "text" ? given : undefined;
}
