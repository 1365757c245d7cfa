import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";

export const scale: Command = {
  usage: ["scale POOL NUMBER"],
  about:
    "Sets the number of pods of a pool, including pods with a sandbox. Surplus pods are deleted when they are idle: no sandbox is ended. " +
    "POOL is a name, or NAMESPACE/NAME if several namespaces have the name. A pool that belongs to an Env is scaled with agentbox envs scale.",
  examples: [{ does: "Have room for ten sandboxes", line: "agentbox scale base 10" }],
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
    context.stdout.write(`pool ${pool} now wants ${Number(number)} pods\n`);
    return 0;
  },
};
