/** A sandbox for people: what it is, how it is, why it is stuck or ended, and what to do next. Pure. */
import type { Sandbox } from "#client/sandbox-types.ts";
import { egressPolicyText } from "#model/egress-policy.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { age, humanDuration } from "../print/human-duration.ts";
import { type Cell, TableText } from "../print/table-text.ts";

type Row = readonly [name: string, value: Cell];

export function inspectText(sandbox: Sandbox, now: number): string {
  const rows = [...whatItIs(sandbox), ...lifeOf(sandbox, now), ...settingsOf(sandbox, now), ...textRows("Metadata", sandbox.metadata)];
  const shown = rows.filter(([, value]) => value !== undefined && value !== "");
  return [new TableText().lay(shown), whyStuck(sandbox, now), nextSteps(sandbox)].filter((part) => part !== "").join("\n");
}

function whatItIs(sandbox: Sandbox): readonly Row[] {
  const { sandboxId, team, user, poolName, namespace, envName, templateName, podName, node, containerImages } = sandbox;
  const { cpu, memory, disk } = sandbox;
  return [
    ["Sandbox", sandboxId],
    ["Owner", [team, user].filter((part) => part !== "").join(" / ") || "none"],
    ["Pool", namespace === "default" ? poolName : `${namespace}/${poolName}`],
    ["Env", envName === poolName ? undefined : envName],
    ["Template", templateName === poolName ? undefined : templateName],
    ["Pod", node === undefined ? podName : `${podName} on ${node}`],
    ...textRows("Image", containerImages, ": "),
    ["Size", [cpu && `${cpu} cpu`, memory && `${memory} memory`, disk && `${disk} disk`].filter(Boolean).join(", ")],
  ];
}

function lifeOf(sandbox: Sandbox, now: number): readonly Row[] {
  const { status, failureReason, failureMessage, exitCode, claimedAt, startedAt, terminatedAt, lastActiveAt } = sandbox;
  const why = [failureReason, failureMessage, exitCode !== undefined && `exit code ${exitCode}`].filter(Boolean).join("; ");
  const at = (time: string | undefined): string | undefined => (time === undefined ? undefined : `${age(time, now)} ago (${time})`);
  return [
    ["Status", why === "" ? status : `${status}: ${why}`],
    ["Claimed", at(claimedAt)],
    ["Started", startedAt === undefined ? undefined : `${humanDuration(Date.parse(startedAt) - Date.parse(claimedAt))} after the claim`],
    ["Ended", at(terminatedAt)],
    ["Lived", terminatedAt === undefined ? undefined : humanDuration(Date.parse(terminatedAt) - Date.parse(claimedAt))],
    ["Last used", at(lastActiveAt)],
  ];
}

function settingsOf(sandbox: Sandbox, now: number): readonly Row[] {
  const { idleTimeout, endTime, onTimeout, autoResume, privateTraffic, egress } = sandbox;
  const end = endTime === undefined ? undefined : `in ${humanDuration(Date.parse(endTime) - now)} (${endTime})`;
  return [
    ["Ends", end],
    ["Idle timeout", idleTimeout],
    ["At timeouts", onTimeout],
    ["Wakes up", autoResume === true ? "when it is asked" : undefined],
    ["Traffic", privateTraffic === true ? "only with its token" : undefined],
    ["May reach", egress === undefined ? undefined : egressPolicyText(egress)],
  ];
}

function textRows(name: string, texts: Readonly<Record<string, string>>, between = "="): readonly Row[] {
  return Object.entries(texts).map(([key, value], index) => [index === 0 ? name : "", `${key}${between}${value}`]);
}

function whyStuck({ diagnosis }: Sandbox, now: number): string {
  if (diagnosis === undefined) return "";
  const { reason, message, events = [] } = diagnosis;
  const rows = events.map(({ lastTimestamp, reason: why, message: what, count }): Cell[] => [
    `  ${age(lastTimestamp, now)}`,
    why,
    count > 1 ? `${what} (${count} times)` : what,
  ]);
  return `Why it is so:  ${reason}: ${message}\n${rows.length === 0 ? "" : new TableText().lay(rows)}`;
}

function nextSteps({ sandboxId, status }: Sandbox): string {
  if (isTerminalStatus(status)) return `Its log: agentbox logs ${sandboxId}. Who did what to it: agentbox audit --target ${sandboxId}\n`;
  if (status === "Paused") return `Go on with it: agentbox resume ${sandboxId}\n`;
  if (status !== "Running") return `Follow it: agentbox wait ${sandboxId}\n`;
  return `A shell in it: agentbox attach ${sandboxId}. Its log: agentbox logs -f ${sandboxId}. End it: agentbox rm ${sandboxId}\n`;
}
