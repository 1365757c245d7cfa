import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";

export const scale: Command = {
  usage: ["scale POOL NUMBER"],
  about:
    "Sets how many pods a pool keeps, those with a sandbox included. Pods that are too many go when they are idle: no sandbox is ended. " +
    "POOL is a name, or NAMESPACE/NAME where several have it. A pool that belongs to an Env is scaled with agentbox envs scale.",
  examples: [{ does: "Room for ten sandboxes at a time", line: "agentbox scale base 10" }],
  flags: {},
  run: async (context, { words: [pool, number, ...more] }) => {
    if (pool === undefined || number === undefined || more.length > 0) {
      throw new UsageError("scale needs a pool and a number: agentbox scale base 10");
    }
    if (!/^\d{1,9}$/.test(number))
      throw new UsageError(`the size of a pool must be a whole number of at least 0, not ${JSON.stringify(number)}`);
    const parts = pool.split("/");
    const [name = "", namespace] = parts.reverse();
    const { pools } = await apiClient(context);
    await pools.scale({ name, namespace }, Number(number), context.signal);
    context.stdout.write(`pool ${pool} is to have ${Number(number)} pods\n`);
    return 0;
  },
};
