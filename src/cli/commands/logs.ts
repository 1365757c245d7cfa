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
  about: "Shows what a live sandbox's own program wrote, from its claim on. What commands wrote that were run in it is not among it.",
  examples: [
    { does: "The last hundred lines", line: "agentbox logs ID --tail 100" },
    { does: "… and what comes, until the sandbox ends", line: "agentbox logs ID -f --tail 100" },
  ],
  flags: {
    follow: { short: "f", help: "Then show what comes, until the sandbox ends or Ctrl-C" },
    tail: { value: "LINES", help: "Only so many lines from the end (default: 1000)" },
    since: { value: "DURATION", help: "Only of this last while, such as 5m" },
    container: { short: "c", value: "NAME", help: "Of this container (default: the first)" },
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
    if (truncated) context.stderr.write("agentbox: there is more than the API passes on; the oldest of it is missing here\n");
    for (const line of lines) context.stdout.write(`${line}\n`);
    return 0;
  },
};

async function follow(context: CliContext, sandboxes: SandboxesClient, id: string, query: LogQuery): Promise<number> {
  for await (const piece of sandboxes.followLogs(id, query, context.signal)) {
    if ("line" in piece) context.stdout.write(piece.partial === true ? piece.line : `${piece.line}\n`);
    else return endOfLog(piece);
  }
  throw new CliError("the connection to the server broke; run it again to go on");
}

function endOfLog({ _meta: { reason, message } }: Extract<LogLine, { readonly _meta: unknown }>): number {
  if (reason === "error") throw new CliError(message ?? "the server could not go on reading the log");
  if (reason === "shutdown") throw new CliError("the server has ended; run it again to go on");
  return 0;
}
