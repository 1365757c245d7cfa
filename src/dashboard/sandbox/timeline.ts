/** The life of a sandbox as steps with their times, from the request to the record. Pure. */
import type { Sandbox } from "#client/sandbox-types.ts";
import { spanText } from "../format.ts";

export interface Step {
  readonly name: string;
  readonly about?: string;
  readonly time: string;
  readonly tone: "good" | "bad" | "warn" | "later" | "plain";
}

export function timelineOf(sandbox: Sandbox): readonly Step[] {
  const { claimedAt, startedAt, lastActiveAt, terminatedAt, endTime, status, diagnosis } = sandbox;
  const steps: Step[] = [{ name: "Claimed", about: `pod ${sandbox.podName} of pool ${sandbox.poolName}`, time: claimedAt, tone: "plain" }];
  if (startedAt !== undefined)
    steps.push({ name: "Running", about: `${between(claimedAt, startedAt)} after the claim`, time: startedAt, tone: "good" });
  for (const { reason, message, lastTimestamp, count } of diagnosis?.events ?? []) {
    steps.push({ name: count > 1 ? `${reason} (${count} times)` : reason, about: message, time: lastTimestamp, tone: "warn" });
  }
  if (lastActiveAt !== undefined) steps.push({ name: "Latest traffic", time: lastActiveAt, tone: "plain" });
  if (terminatedAt !== undefined) steps.push(endOf(sandbox, terminatedAt));
  steps.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  if (terminatedAt === undefined && endTime !== undefined) {
    steps.push({
      name: sandbox.onTimeout === undefined || sandbox.onTimeout === "kill" ? "Ends" : "Pauses",
      about: status === "Paused" ? "not while it is paused" : "unless its time is extended",
      time: endTime,
      tone: "later",
    });
  }
  return steps;
}

function endOf({ status, stopReason, failureReason, failureMessage, exitCode, claimedAt }: Sandbox, time: string): Step {
  const why = [failureReason ?? stopReason, failureMessage, exitCode === undefined ? undefined : `exit code ${exitCode}`];
  const about = [...why.filter((text) => text !== undefined && text !== status), `lived for ${between(claimedAt, time)}`].join("; ");
  const isBad = status === "Failed" || (status === "Canceled" && failureReason !== undefined);
  return { name: `Ended: ${status}`, about, time, tone: isBad ? "bad" : "plain" };
}

function between(from: string, to: string): string {
  return spanText(Date.parse(to) - Date.parse(from));
}
