/** `agentbox envs …`: what its words do is in envs/. */
import type { Command } from "../command.ts";
import { addMember, removeMember, scaleMember } from "../envs/change-members.ts";
import { createEnv } from "../envs/create-env.ts";
import { deleteEnvs } from "../envs/delete-envs.ts";
import { groupModes } from "../envs/env-words.ts";
import { explainEnv } from "../envs/explain-env.ts";
import { listEnvs } from "../envs/list-envs.ts";
import { refreshEnv } from "../envs/refresh-env.ts";
import { setEnv } from "../envs/set-env.ts";
import { showEnv } from "../envs/show-env.ts";
import { listingFlags } from "../print/listing.ts";
import { runWordAction } from "../word-action.ts";

const actions = {
  ls: listEnvs,
  create: createEnv,
  show: showEnv,
  set: setEnv,
  scale: scaleMember,
  add: addMember,
  drop: removeMember,
  refresh: refreshEnv,
  explain: explainEnv,
  rm: deleteEnvs,
};

export const envs: Command = {
  usage: [
    "envs ls",
    "envs create NAME --template TEMPLATE [SIZE] [--min N] [--max N] [--mode MODE | --replicas N]",
    "envs show NAME",
    "envs set NAME [--min N] [--max N] [--mode MODE] [--image IMAGE] [--template-version VERSION]",
    "envs scale NAME[/MEMBER] NUMBER",
    "envs add NAME [--member NAME] [SIZE] [--group GROUP]",
    "envs drop NAME/MEMBER",
    "envs refresh NAME[/MEMBER] [--dry-run]",
    "envs explain NAME",
    "envs rm NAME … [--end-sandboxes]",
  ],
  about:
    "An Env is what sandboxes are asked for by name: one template, and the pools (members) that serve it. Members of a group are sized " +
    "together, by demand unless --mode or --replicas says otherwise. SIZE is --cpu and --memory, or --instance-type and --multiplier; " +
    "without it pods are as large as the template says. A new version of the template reaches the pools with refresh. " +
    "agentbox env, without the s, prints variables for shells.",
  examples: [
    {
      does: "An Env that is sized by demand, up to 20 pods",
      line: "agentbox envs create py --template base --cpu 1 --memory 1Gi --max 20",
    },
    { does: "One of a fixed size", line: "agentbox envs create py --template base --replicas 5" },
    { does: "Let it grow further, and keep three pods always", line: "agentbox envs set py --min 3 --max 50" },
    { does: "Why it has as many pods as it has", line: "agentbox envs explain py" },
    { does: "What a new version of the template would change", line: "agentbox envs refresh py --dry-run" },
    { does: "Watch the numbers move", line: "agentbox get sbe -w" },
    {
      does: "Credentials for its images",
      line: "agentbox envs set py --registry registry.example.com --registry-user robot --registry-password-stdin < token",
    },
    { does: "Delete it and end its sandboxes", line: "agentbox envs rm py --end-sandboxes" },
  ],
  flags: {
    template: { value: "TEMPLATE", help: "The SandboxTemplate that its pods are made from" },
    "template-version": { value: "VERSION", help: "Stay with this version of it; `current` with set: no longer" },
    image: { value: "IMAGE", help: "Image of the first container, instead of the template's" },
    "idle-timeout": { value: "DURATION", help: "How long a sandbox may go without use when its request does not say" },
    member: { value: "NAME", help: "Name of the member (default: made from the Env's name and the size)" },
    cpu: { value: "CORES", help: "Size of each pod, such as 2 or 500m" },
    memory: { value: "SIZE", help: "Size of each pod, such as 4Gi" },
    "instance-type": { value: "TYPE", help: "Size of each pod: an entry of the catalogue" },
    multiplier: { value: "N", help: "How many times the instance type (default: 1)" },
    replicas: { value: "N", help: "A fixed number of pods, without autoscaling" },
    group: { value: "GROUP", help: "Scaling group (default: default, or the only one there is)" },
    min: { value: "N", help: "Fewest pods of the group" },
    max: { value: "N", help: "Most pods of the group (default: no limit)" },
    mode: { value: "MODE", choices: groupModes, help: "How the group grows (default: Demand)" },
    priority: { value: "N", help: "Preference of the member, lower is better" },
    registry: { value: "HOST", help: "Registry that its images need credentials for" },
    "registry-user": { value: "USER", help: "The user there" },
    "registry-password-stdin": { help: "Read the password or token from standard input" },
    "dry-run": { help: "Only show what would change" },
    "end-sandboxes": { help: "End the sandboxes that run; without it they run on until they end" },
    namespace: { short: "n", value: "NAMESPACE", help: "Where the Env is; needed only when several have the name" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("envs", actions),
};
