/** Columns of a table of sandboxes. */
import type { Sandbox } from "#client/sandbox-types.ts";
import { age } from "../print/human-duration.ts";
import type { ListColumn } from "../print/listing.ts";

export const sandboxColumns: readonly ListColumn<Sandbox>[] = [
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

/** Changes that a watcher shows; usage of a sandbox is not among them. */
export function sandboxState({ status, failureReason, terminatedAt, endTime, podName }: Sandbox): unknown {
  return [status, failureReason, terminatedAt, endTime, podName];
}
