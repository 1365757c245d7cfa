/** The other tenant: asks for a sandbox at a steady pace, uses it, ends it, whatever else goes on. */
import type { AgentBoxClient } from "#client/agentbox-client.ts";
import { percentile } from "../../bench/lib/measure.ts";

export interface VictimOptions {
  readonly client: AgentBoxClient;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface Served {
  readonly asked: number;
  /** Created, used with the right result, and ended. */
  readonly served: number;
  readonly p50: number;
  readonly p99: number;
  readonly refusals: ReadonlyMap<string, number>;
}

/** Requests begin at their time, also when earlier ones are late: a slow server does not make the tenant ask less. */
export async function workSteadily({ client, perSecond, seconds }: VictimOptions): Promise<Served> {
  const times: number[] = [];
  const refusals = new Map<string, number>();
  const count = Math.round(perSecond * seconds);
  const began = performance.now();
  const one = async (index: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, (index / perSecond) * 1000 - (performance.now() - began))));
    try {
      times.push(await useOne(client));
    } catch (error) {
      const what = (error as { code?: string }).code ?? (error as Error).message;
      refusals.set(what, (refusals.get(what) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: count }, (_, index) => one(index)));
  return { asked: count, served: times.length, p50: percentile(times, 0.5), p99: percentile(times, 0.99), refusals };
}

/** Milliseconds of the create. */
async function useOne(client: AgentBoxClient): Promise<number> {
  const began = performance.now();
  const { sandbox } = await client.sandboxes.create({ poolName: "base", startupTimeout: "10s", lifetime: "1m" });
  const took = performance.now() - began;
  const { stdout } = await client.sandboxes.exec(sandbox.sandboxId, { command: ["echo", sandbox.sandboxId] });
  await client.sandboxes.end(sandbox.sandboxId);
  if (stdout.trim() !== sandbox.sandboxId) throw new Error("wrong output");
  return took;
}
