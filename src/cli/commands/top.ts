import type { SandboxUse } from "#client/metrics.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";
import { byteSize } from "../print/byte-size.ts";
import { age } from "../print/human-duration.ts";
import { type ListColumn, listingFlags, showListing } from "../print/listing.ts";
import { collectSandboxes } from "../sandbox/collect-sandboxes.ts";

const orders = ["cpu", "memory", "disk", "age"] as const;

export const top: Command = {
  usage: ["top [--pool POOL] [--sort ORDER] [-w] [-o FORMAT]"],
  about: "Shows the resource usage of live sandboxes: processor, memory and disk, largest first.",
  examples: [
    { does: "Sort by processor usage", line: "agentbox top" },
    { does: "Sort by memory, and keep updating", line: "agentbox top --sort memory -w" },
  ],
  flags: {
    pool: { value: "POOL", help: "Only sandboxes of this pool" },
    sort: { value: "ORDER", choices: orders, help: "Sort by this (default: cpu)" },
    ...listingFlags,
  },
  run: async (context, args) => {
    if (args.words.length > 0) throw new UsageError(`top takes only flags: unexpected ${args.words.join(" ")}`);
    const { sandboxes, metrics } = await apiClient(context);
    const poolName = args.text("pool");
    const order = args.text("sort") ?? "cpu";
    const load = async (): Promise<readonly UsedSandbox[]> => {
      const { found } = await collectSandboxes(
        context,
        sandboxes,
        { status: liveSandboxStatuses, ...(poolName !== undefined && { poolName }) },
        Infinity,
      );
      const uses = await metrics.latest(
        found.map(({ sandboxId }) => sandboxId),
        context.signal,
      );
      const all = found.map((sandbox) => ({ ...sandbox, use: uses.get(sandbox.sandboxId) }));
      return order === "age" ? all : all.sort((a, b) => sizeOf(b.use, order) - sizeOf(a.use, order));
    };
    return await showListing(context, args, {
      load,
      nameOf: ({ sandboxId }) => sandboxId,
      columns,
      empty: "No live sandboxes",
      changeOf: ({ status, use }) => [status, use],
    });
  },
};

interface UsedSandbox extends Sandbox {
  readonly use: SandboxUse | undefined;
}

function sizeOf(use: SandboxUse | undefined, order: string): number {
  return (order === "cpu" ? use?.cpuUsedPct : order === "memory" ? use?.memUsed : use?.diskUsed) ?? -1;
}

const columns: readonly ListColumn<UsedSandbox>[] = [
  { name: "ID", cell: ({ sandboxId }) => sandboxId },
  { name: "POOL", cell: ({ poolName }) => poolName },
  { name: "STATUS", cell: ({ status }) => status },
  { name: "CPU%", cell: ({ use }) => (use === undefined ? "-" : use.cpuUsedPct.toFixed(1)) },
  { name: "CPUS", cell: ({ use }) => use?.cpuCount ?? "-" },
  { name: "MEMORY", cell: ({ use }) => (use === undefined ? "-" : byteSize(use.memUsed)) },
  { name: "OF", cell: ({ use }) => (use === undefined ? "-" : byteSize(use.memTotal)) },
  { name: "DISK", cell: ({ use }) => (use === undefined ? "-" : byteSize(use.diskUsed)) },
  { name: "AGE", cell: ({ claimedAt }, now) => age(claimedAt, now) },
  { name: "NODE", wide: true, cell: ({ node }) => node ?? "-" },
];
