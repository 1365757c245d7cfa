import type { EnvGroup, EnvMember } from "#client/envs.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { apiClient } from "../api-client.ts";
import { TableText } from "../print/table-text.ts";
import type { WordAction } from "../word-action.ts";
import { printed } from "../print/listing.ts";
import { oneEnv } from "./env-words.ts";
import { policyText } from "./policy-text.ts";

export const showEnv: WordAction = {
  flags: ["namespace", "output"],
  run: async (context, words, args) => {
    const wanted = oneEnv("show", words, args);
    const { envs } = await apiClient(context);
    const env = await envs.get(wanted, context.signal);
    if (printed(context, args, env)) return 0;
    const [members, { groups }] = await Promise.all([envs.members(wanted, context.signal), envs.autoscaling(wanted, context.signal)]);
    context.stdout.write([facts(env), membersTable(members), groupsTable(groups)].join("\n"));
    return 0;
  },
};

function facts(env: SandboxEnv): string {
  const { metadata, spec, status = {} } = env;
  const { name, version } = spec.templateRef;
  const used = status.templateVersion === undefined ? "" : `, at ${status.templateVersion}`;
  const lines = [
    ["Name", metadata.name ?? ""],
    ["Mode", spec.mode],
    ["Template", `${name}${version === undefined ? "" : ` (stays with ${version})`}${used}`],
    ...(status.conditions ?? []).map(({ type, status: is, reason, message }) => [
      type,
      `${is} (${reason})${message === "" ? "" : `: ${message}`}`,
    ]),
  ];
  return new TableText().lay(lines);
}

function membersTable(members: readonly EnvMember[]): string {
  const header = ["MEMBER", "CLUSTER", "SIZE", "WANTED", "SET-BY", "IDLE", "RUNNING", "STATE", "MESSAGE"];
  const rows = members.map(({ name, clusterID, config, replicas, replicasSetBy, observed = { name } }) => [
    name,
    clusterID,
    sizeText(config),
    replicas,
    replicasSetBy,
    observed.idleCount ?? "-",
    observed.runningCount ?? "-",
    observed.state ?? "-",
    observed.message ?? "",
  ]);
  return members.length === 0 ? "No members\n" : new TableText().lay([header, ...rows]);
}

function sizeText({ instanceType = "", multiplier = 1, inlineResources }: EnvMember["config"]): string {
  if (instanceType !== "") return `${instanceType} x${multiplier}`;
  const amounts = { ...inlineResources?.requests, ...inlineResources?.limits };
  const texts = Object.entries(amounts).map(([name, amount]) => `${name}=${amount}`);
  return texts.length === 0 ? "template's" : texts.join(",");
}

function groupsTable(groups: readonly EnvGroup[]): string {
  const header = ["GROUP", "POLICY", "DESIRED", "RUNNING", "IDLE", "WAITING", "DECISION"];
  const rows = groups.map((group) => [
    group.name,
    policyText(group),
    group.desired,
    group.running,
    group.idle,
    group.waiting,
    group.decision ?? "",
  ]);
  return groups.length === 0 ? "" : new TableText().lay([header, ...rows]);
}
