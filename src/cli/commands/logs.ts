import type { LogLine, LogQuery } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../failure.ts";
import { oneId } from "../sandbox/one-id.ts";
import { spanOf } from "../sandbox/spans.ts";

export const logs: Command = {
  usage: ["logs ID [-f] [--tail LINES] [--since DURATION] [-c NAME | --source RUNTIME]"],
  about: "Shows the log of a live sandbox's main program since the claim. The output of commands run in the sandbox is not included.",
  examples: [
    { does: "The last hundred lines", line: "agentbox logs ID --tail 100" },
    { does: "… and follow the log until the sandbox ends", line: "agentbox logs ID -f --tail 100" },
  ],
  flags: {
    follow: { short: "f", help: "Follow the log until the sandbox ends or Ctrl-C" },
    tail: { value: "LINES", help: "Number of lines from the end (default: 1000)" },
    since: { value: "DURATION", help: "Only lines of this last time span, such as 5m" },
    container: { short: "c", value: "NAME", help: "Container to read from (default: the first)" },
    source: { value: "RUNTIME", help: "The file that this runtime of the template logs to (default: stdout)" },
  },
  run: async (context, args) => {
    const id = oneId("logs", args.words);
    const query: LogQuery = withoutUndefined({
      tail: args.number("tail"),
      since: spanOf(args, "since"),
      container: args.text("container"),
      source: args.text("source"),
    });
    const { sandboxes } = await apiClient(context);
    if (args.isOn("follow")) return await follow(context, sandboxes, id, query);
    const { lines, truncated } = await sandboxes.logs(id, query, context.signal);
    if (truncated) context.stderr.write("agentbox: the log is too long for one answer; the oldest lines are missing\n");
    for (const line of lines) context.stdout.write(`${line}\n`);
    return 0;
  },
};

async function follow(context: CliContext, sandboxes: SandboxesClient, id: string, query: LogQuery): Promise<number> {
  for await (const piece of sandboxes.followLogs(id, query, context.signal)) {
    if ("line" in piece) context.stdout.write(piece.partial === true ? piece.line : `${piece.line}\n`);
    else return endOfLog(piece);
  }
  throw new CliError("the connection to the server broke; run the command again to continue");
}

function endOfLog({ _meta: { reason, message } }: Extract<LogLine, { readonly _meta: unknown }>): number {
  if (reason === "error") throw new CliError(message ?? "the server could not read more of the log");
  if (reason === "shutdown") throw new CliError("the server has shut down; run the command again to continue");
  return 0;
}
