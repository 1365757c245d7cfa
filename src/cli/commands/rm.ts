import type { Sandbox } from "#client/sandbox-types.ts";
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { TableText } from "../print/table-text.ts";
import { collectSandboxes, filterFlags, sandboxQuery } from "../sandbox/collect-sandboxes.ts";
import { eachSandbox } from "../sandbox/each-sandbox.ts";
import { sandboxColumns } from "../sandbox/sandbox-columns.ts";

/** Number of sandboxes shown before the question. */
const previewed = 20;

export const rm: Command = {
  usage: [
    "rm ID …",
    "kill ID …",
    "rm [--pool POOL] [--template TEMPLATE] [--metadata KEY=VALUE] [--prefix TEXT] [--status STATUS] [--all] [--yes]",
  ],
  about:
    "Ends sandboxes with their processes and files. Their records stay in the history: agentbox ls --all. " +
    "With filters, it shows the matching sandboxes and asks for confirmation; --yes skips the question, --dry-run only shows them.",
  examples: [
    { does: "End one", line: "agentbox rm ID" },
    { does: "End all sandboxes of a pool", line: "agentbox rm --pool base" },
    { does: "Show what would be ended", line: "agentbox rm --metadata ticket=42 --dry-run" },
    { does: "End all, in a script", line: "agentbox rm --all --yes" },
  ],
  flags: {
    ...filterFlags,
    all: { short: "a", help: "All live sandboxes visible to this key" },
    yes: { short: "y", help: "Do not ask" },
    "dry-run": { help: "Only show the matching sandboxes" },
  },
  run: async (context, args) => {
    const filters = [...Object.keys(filterFlags), "all"].filter((flag) => args.has(flag));
    if (filters.length === 0) {
      for (const flag of ["yes", "dry-run"])
        if (args.has(flag)) throw new UsageError(`--${flag} is only for filters such as --pool: sandboxes given by ID are ended at once`);
      return await endAll(context, args.words);
    }
    if (args.words.length > 0) throw new UsageError(`rm takes IDs or filters, not both: ${args.words.join(" ")} and --${filters[0] ?? ""}`);
    return await endFound(context, args);
  },
};

async function endFound(context: CliContext, args: Arguments): Promise<number> {
  const { sandboxes } = await apiClient(context);
  const query = { ...sandboxQuery(args), ...(!args.has("status") && { status: liveSandboxStatuses }) };
  const { found } = await collectSandboxes(context, sandboxes, query, Infinity);
  if (found.length === 0) {
    context.stderr.write("No live sandboxes match\n");
    return 0;
  }
  if (args.isOn("dry-run") || !args.isOn("yes")) preview(context, found);
  if (args.isOn("dry-run")) return 0;
  if (!args.isOn("yes") && !(await isWanted(context, found.length))) {
    context.stderr.write("Nothing was ended\n");
    return 1;
  }
  return await endAll(
    context,
    found.map(({ sandboxId }) => sandboxId),
  );
}

function preview({ stderr, clock }: CliContext, found: readonly Sandbox[]): void {
  const columns = sandboxColumns.filter(({ wide }) => wide !== true);
  const rows = found.slice(0, previewed).map((sandbox) => columns.map(({ cell }) => cell(sandbox, clock.now())));
  stderr.write(new TableText().lay([columns.map(({ name }) => name), ...rows]));
  if (found.length > previewed) stderr.write(`… and ${found.length - previewed} more\n`);
}

async function isWanted(context: CliContext, count: number): Promise<boolean> {
  if (!context.hasTerminal())
    throw new CliError("without a terminal, ending sandboxes by a filter needs --yes; --dry-run shows which ones");
  const answer = await context.ask(`End ${count === 1 ? "this sandbox" : `these ${count} sandboxes`}? [y/N] `);
  return /^y(es)?$/i.test(answer.trim());
}

async function endAll(context: CliContext, ids: readonly string[]): Promise<number> {
  return await eachSandbox(context, ids, {
    command: "rm",
    doing: "Ending",
    act: async (sandboxes, id) => {
      await sandboxes.end(id, context.signal);
      return "has ended";
    },
  });
}
