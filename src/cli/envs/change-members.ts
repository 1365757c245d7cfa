import type { EnvName, EnvsClient } from "#client/envs.ts";
import { apiClient } from "../api-client.ts";
import { CliError, UsageError } from "../failure.ts";
import type { WordAction } from "../word-action.ts";
import { printed } from "../print/listing.ts";
import { envAndMember, memberWish, oneEnv, sizeFlags } from "./env-words.ts";

export const addMember: WordAction = {
  flags: ["namespace", "output", "member", "replicas", "priority", "group", ...sizeFlags],
  run: async (context, words, args) => {
    const env = oneEnv("add", words, args);
    const member = await (await apiClient(context)).envs.addMember(env, memberWish(args, args.text("member")), context.signal);
    if (!printed(context, args, member)) context.stdout.write(`env ${env.name} has a new member ${member.name}\n`);
    return 0;
  },
};

export const removeMember: WordAction = {
  flags: ["namespace"],
  run: async (context, words, args) => {
    const [word, ...more] = words;
    const { env, member } = envAndMember(word ?? "", args);
    if (member === undefined || more.length > 0) throw new UsageError("envs drop needs ENV/MEMBER: agentbox envs drop py/py-2c4gi");
    await (await apiClient(context)).envs.removeMember(env, member, context.signal);
    context.stdout.write(`member ${member} is removed from env ${env.name}; its pool is deleted when its sandboxes have ended\n`);
    return 0;
  },
};

export const scaleMember: WordAction = {
  flags: ["namespace", "output"],
  run: async (context, words, args) => {
    const [word, number, ...more] = words;
    if (word === undefined || number === undefined || more.length > 0) {
      throw new UsageError("envs scale needs an Env and a number: agentbox envs scale py 10, or py/MEMBER 10");
    }
    if (!/^\d{1,9}$/.test(number)) throw new UsageError(`the size must be a whole number of at least 0, not ${JSON.stringify(number)}`);
    const { env, member } = envAndMember(word, args);
    const { envs } = await apiClient(context);
    const name = member ?? (await onlyMember(envs, env, context.signal));
    const scaled = await envs.scaleMember(env, name, Number(number), context.signal);
    if (!printed(context, args, scaled)) context.stdout.write(`member ${name} of env ${env.name} now wants ${scaled.replicas} pods\n`);
    return 0;
  },
};

async function onlyMember(envs: EnvsClient, env: EnvName, signal: AbortSignal): Promise<string> {
  const local = (await envs.members(env, signal)).filter(({ isLocal }) => isLocal);
  const [only, ...others] = local;
  if (only !== undefined && others.length === 0) return only.name;
  if (only === undefined) throw new CliError(`Env ${env.name} has no member in this server's cluster`);
  throw new CliError(`Env ${env.name} has several members: say which one: ${local.map(({ name }) => `${env.name}/${name}`).join(", ")}`);
}
