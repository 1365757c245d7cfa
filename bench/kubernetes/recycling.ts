/** One pod, again and again: how long from the end of a sandbox until its pod waits for the next, and whether a kubelet holds it back. */
import { setTimeout as sleep } from "node:timers/promises";
import { podCondition, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SystemWorld } from "../../test/cluster/system-world.ts";
import { BenchPool, usesOf } from "./pool.ts";

export interface Recycled {
  /** From the request that ends it until the pod is idle and ready. */
  readonly ms: readonly number[];
  readonly restarts: number;
  /** Whether it was one pod all the time. */
  readonly isSame: boolean;
  /** What its container was seen waiting for. */
  readonly waitedFor: readonly string[];
}

export async function recycle(world: SystemWorld, times: number): Promise<Recycled> {
  const pool = await BenchPool.filled(world, "one", { replicas: 1 });
  const { sandboxes } = await world.api();
  const names = new Set<string>();
  const waitedFor = new Set<string>();
  const ms: number[] = [];
  const look = async (): Promise<Pod | undefined> => {
    const [pod] = await pool.pods();
    const reason = pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason;
    if (reason !== undefined) waitedFor.add(reason);
    return pod;
  };
  for (let use = 1; use <= times; use++) {
    const { sandbox } = await sandboxes.create({ poolName: pool.name });
    names.add(sandbox.podName);
    const began = performance.now();
    await sandboxes.end(sandbox.sandboxId);
    while (!isBack(await look(), use)) await sleep(25);
    ms.push(performance.now() - began);
  }
  const [pod] = await pool.full();
  return { ms, restarts: pod?.status?.containerStatuses?.[0]?.restartCount ?? 0, isSame: names.size === 1, waitedFor: [...waitedFor] };
}

/** Waiting again, after so many sandboxes. */
function isBack(pod: Pod | undefined, uses: number): boolean {
  return pod !== undefined && sandboxPhaseOf(pod) === "idle" && usesOf(pod) === uses && podCondition(pod, "Ready")?.status === "True";
}
