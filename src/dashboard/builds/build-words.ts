/** How builds are shown. Pure. */
import type { Build } from "#client/builds.ts";
import { spanText } from "../format.ts";

const words = { waiting: "Pending", building: "Running", ready: "Ready", error: "Failed" } as const;

export function statusWord(status: Build["status"]): string {
  return words[status];
}

export function isOver({ status }: Pick<Build, "status">): boolean {
  return status === "ready" || status === "error";
}

/** Undefined for a build that goes on, or that never began. */
export function buildTimeText({ startedAt, finishedAt }: Pick<Build, "startedAt" | "finishedAt">): string | undefined {
  if (startedAt === undefined || finishedAt === undefined) return undefined;
  return spanText(Date.parse(finishedAt) - Date.parse(startedAt));
}
