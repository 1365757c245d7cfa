import type { EnvAutoscaling, EnvEvent, EnvGroup, EnvGroupMember } from "#client/envs.ts";
import { apiClient } from "../api-client.ts";
import { age } from "../print/human-duration.ts";
import { TableText } from "../print/table-text.ts";
import type { WordAction } from "../word-action.ts";
import { printed } from "../print/listing.ts";
import { oneEnv } from "./env-words.ts";
import { policyText } from "./policy-text.ts";

const shownEvents = 10;

export const explainEnv: WordAction = {
  flags: ["namespace", "output"],
  run: async (context, words, args) => {
    const wanted = oneEnv("explain", words, args);
    const { envs } = await apiClient(context);
    const [autoscaling, events] = await Promise.all([envs.autoscaling(wanted, context.signal), envs.events(wanted, context.signal)]);
    const latest = events.slice(0, shownEvents);
    if (printed(context, args, { ...autoscaling, events: latest })) return 0;
    const now = context.clock.now();
    context.stdout.write(
      [activeText(autoscaling), ...autoscaling.groups.map((group) => groupText(group, now)), eventsText(latest, now)].join("\n"),
    );
    return 0;
  },
};

function activeText({ active }: EnvAutoscaling): string {
  if (active === undefined) return "Autoscaling: not checked yet\n";
  const { status, reason, message } = active;
  return `Autoscaling: ${status === "True" ? "on" : "off"} (${reason})${message === "" ? "" : `: ${message}`}\n`;
}

function groupText(group: EnvGroup, now: number): string {
  const { name, desired, running, idle, waiting, decision, members } = group;
  const why = decision ?? (group.enabled ? "no decision yet" : "replicas of its members are set by hand");
  return [
    `Group ${name} (${policyText(group)}): ${why}\n`,
    `  ${desired} wanted, ${running} running, ${idle} idle, ${waiting} waiting\n`,
    new TableText().lay([memberHeader, ...members.map((member) => memberRow(member, now))]),
  ].join("");
}

const memberHeader = ["  MEMBER", "WANTED", "IDLE", "RUNNING", "STATE", "GREW", "SHRANK", "LAST-TRY", "WHY"];

function memberRow({ name, replicas, idle, running, state, message, autoscaling = {} }: EnvGroupMember, now: number): (string | number)[] {
  const since = (time: string | undefined): string => (time === undefined ? "-" : `${age(time, now)} ago`);
  const { lastScaleUpTime, lastScaleDownTime, lastScaleUpAttemptResult, scaleUpErrorMessage } = autoscaling;
  const why = message ?? scaleUpErrorMessage ?? "";
  const times = [since(lastScaleUpTime), since(lastScaleDownTime), lastScaleUpAttemptResult ?? "-"];
  return [`  ${name}`, replicas, idle ?? "-", running ?? "-", state ?? "-", ...times, why];
}

function eventsText(events: readonly EnvEvent[], now: number): string {
  if (events.length === 0) return "No events\n";
  const rows = events.map(({ lastTime, type, reason, name, message }) => [age(lastTime, now), type, reason, name, message]);
  return new TableText().lay([["LAST-SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"], ...rows]);
}
