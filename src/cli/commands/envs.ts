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
    "An Env is the name under which clients request sandboxes: one template, and the pools (members) that serve it. Members of a group are sized " +
    "together, by demand unless --mode or --replicas says otherwise. SIZE is --cpu and --memory, or --instance-type and --multiplier; " +
    "without it pods have the size of the template. refresh brings a new version of the template to the pools. " +
    "agentbox env, without the s, prints variables for shells.",
  examples: [
    {
      does: "Create an Env that is sized by demand, up to 20 pods",
      line: "agentbox envs create py --template base --cpu 1 --memory 1Gi --max 20",
    },
    { does: "Create one of a fixed size", line: "agentbox envs create py --template base --replicas 5" },
    { does: "Let it grow to 50 pods, and always keep three", line: "agentbox envs set py --min 3 --max 50" },
    { does: "Explain its number of pods", line: "agentbox envs explain py" },
    { does: "Show what a new version of the template would change", line: "agentbox envs refresh py --dry-run" },
    { does: "Watch the numbers move", line: "agentbox get sbe -w" },
    {
      does: "Credentials for its images",
      line: "agentbox envs set py --registry registry.example.com --registry-user robot --registry-password-stdin < token",
    },
    { does: "Delete it and end its sandboxes", line: "agentbox envs rm py --end-sandboxes" },
  ],
  flags: {
    template: { value: "TEMPLATE", help: "SandboxTemplate of the Env" },
    "template-version": { value: "VERSION", help: "Pin this version of the template; `current` (with set) removes the pin" },
    image: { value: "IMAGE", help: "Image of the first container, instead of the template's" },
    "idle-timeout": { value: "DURATION", help: "Default idle timeout of sandboxes" },
    member: { value: "NAME", help: "Name of the member (default: from the Env's name and the size)" },
    cpu: { value: "CORES", help: "Size of each pod, such as 2 or 500m" },
    memory: { value: "SIZE", help: "Size of each pod, such as 4Gi" },
    "instance-type": { value: "TYPE", help: "Size of each pod: an entry of the catalogue" },
    multiplier: { value: "N", help: "Multiplier of the instance type (default: 1)" },
    replicas: { value: "N", help: "A fixed number of pods, without autoscaling" },
    group: { value: "GROUP", help: "Scaling group (default: default, or the only one there is)" },
    min: { value: "N", help: "Fewest pods of the group" },
    max: { value: "N", help: "Most pods of the group (default: no limit)" },
    mode: { value: "MODE", choices: groupModes, help: "How the group grows (default: Demand)" },
    priority: { value: "N", help: "Preference of the member, lower is better" },
    registry: { value: "HOST", help: "Registry that the credentials are for" },
    "registry-user": { value: "USER", help: "The user there" },
    "registry-password-stdin": { help: "Read the password or token from standard input" },
    "dry-run": { help: "Only show what would change" },
    "end-sandboxes": { help: "End running sandboxes; by default they run until they end" },
    namespace: { short: "n", value: "NAMESPACE", help: "Namespace of the Env; needed only if the name is in several namespaces" },
    ...listingFlags,
  },
  words: Object.keys(actions),
  run: runWordAction("envs", actions),
};
