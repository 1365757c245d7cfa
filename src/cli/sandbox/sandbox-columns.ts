/** What a table of sandboxes shows of each. */
import type { Sandbox } from "#client/sandbox-types.ts";
import { age } from "../print/human-duration.ts";
import { type Cell, TableText } from "../print/table-text.ts";

interface SandboxColumn {
  readonly name: string;
  /** Shown in wide output only. */
  readonly wide?: boolean;
  readonly cell: (sandbox: Sandbox, now: number) => Cell;
}

const columns: readonly SandboxColumn[] = [
  { name: "ID", cell: ({ sandboxId }) => sandboxId },
  { name: "POOL", cell: ({ poolName }) => poolName },
  { name: "STATUS", cell: ({ status }) => status },
  { name: "REASON", cell: ({ failureReason }) => failureReason ?? "-" },
  { name: "AGE", cell: ({ claimedAt }, now) => age(claimedAt, now) },
  { name: "ENDED", cell: ({ terminatedAt }, now) => (terminatedAt === undefined ? "-" : `${age(terminatedAt, now)} ago`) },
  { name: "OWNER", wide: true, cell: ({ team, user }) => (team === "" ? "-" : user === "" ? team : `${team}/${user}`) },
  { name: "POD", wide: true, cell: ({ namespace, podName }) => `${namespace}/${podName}` },
  { name: "NODE", wide: true, cell: ({ node }) => node ?? "-" },
  { name: "IMAGES", wide: true, cell: ({ containerImages }) => Object.values(containerImages).join(",") || "-" },
];

export interface SandboxTableOptions {
  readonly wide: boolean;
  readonly headers: boolean;
  readonly now: number;
}

export function sandboxTable(sandboxes: readonly Sandbox[], { wide, headers, now }: SandboxTableOptions): string {
  const shown = columns.filter((column) => wide || column.wide !== true);
  const rows = sandboxes.map((sandbox) => shown.map(({ cell }) => cell(sandbox, now)));
  return new TableText().lay(headers ? [shown.map(({ name }) => name), ...rows] : rows);
}
