import type { Sandbox } from "#client/sandbox-types.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";
import { listingFlags, showListing } from "../print/listing.ts";
import { collectSandboxes, filterFlags, sandboxQuery } from "../sandbox/collect-sandboxes.ts";
import { sandboxColumns, sandboxState } from "../sandbox/sandbox-columns.ts";

const defaultLimit = 100;

export const ls: Command = {
  usage: ["ls [-a] [--pool POOL] [--status STATUS] [--metadata KEY=VALUE] [--limit NUMBER] [-o FORMAT]"],
  about: "Lists sandboxes, newest first: live ones, and with -a or --status also ended ones.",
  examples: [
    { does: "What runs", line: "agentbox ls" },
    { does: "What failed", line: "agentbox ls --status Failed -o wide" },
    { does: "Keep showing changes", line: "agentbox ls -w" },
    { does: "Print the pods of all sandboxes", line: "agentbox ls -o jsonpath='{[*].podName}'" },
    { does: "List all sandboxes ever created for a ticket", line: "agentbox ls -a --metadata ticket=42 --limit 0" },
  ],
  flags: {
    all: { short: "a", help: "Include ended sandboxes" },
    ...filterFlags,
    limit: { value: "NUMBER", help: `Maximum number; 0: all (default: ${defaultLimit})` },
    ...listingFlags,
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`ls takes only flags: unexpected ${args.words.join(" ")}. See agentbox inspect ID`);
    const limit = args.number("limit") ?? defaultLimit;
    if (limit < 0) throw new UsageError(`--limit must be a number of at least 0, not ${limit}`);
    const { sandboxes } = await apiClient(context);
    let more = false;
    const load = async (): Promise<readonly Sandbox[]> => {
      const collected = await collectSandboxes(context, sandboxes, sandboxQuery(args), limit === 0 ? Infinity : limit);
      more = collected.more;
      return collected.found;
    };
    const gone = async ({ sandboxId }: Sandbox): Promise<Sandbox> => await sandboxes.get(sandboxId, context.signal);
    const empty = args.isOn("all") ? "No sandboxes" : "No live sandboxes (ended ones: agentbox ls --all)";
    await showListing(context, args, {
      load,
      nameOf: ({ sandboxId }) => sandboxId,
      columns: sandboxColumns,
      empty,
      changeOf: sandboxState,
      gone,
    });
    if (more) context.stderr.write(`There are more than ${limit}: --limit 0 shows all\n`);
    return 0;
  },
};
