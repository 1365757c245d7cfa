/** The least that a claim on a cluster can cost: one conditional write of a pod at its API server, and one HTTP call to a daemon. */
import { Agent } from "undici";
import { type Pod, Pods } from "#model/pod.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { daemonPortOf } from "#sandbox/runtimes.ts";
import type { SystemWorld } from "../../test/cluster/system-world.ts";

export interface Floor {
  readonly patch: readonly number[];
  readonly call: readonly number[];
  readonly both: readonly number[];
}

/** Nobody schedules it, and nobody but the API server has to do with its changes. */
const plainPod = (namespace: string): Pod => ({
  metadata: { namespace, name: "floor" },
  spec: { schedulerName: "nobody", containers: [{ name: "main", image: "registry.invalid/none:1" }] },
});

export async function floorOf({ client, namespace }: SystemWorld, pods: readonly Pod[], rounds: number): Promise<Floor> {
  const http = new Agent();
  let pod = await client.create(Pods, plainPod(namespace));
  const [patch, call, both]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const asked = pods[round % pods.length];
    if (asked === undefined) throw new Error("there is no daemon to ask");
    const began = performance.now();
    pod = await client.patch(Pods, { namespace, name: "floor" }, podPatch(pod, { annotations: { round: String(round) } }));
    const written = performance.now();
    const origin = `http://${asked.status?.podIP ?? ""}:${daemonPortOf(asked)}`;
    await (await http.request({ origin, path: "/health", method: "GET" })).body.dump();
    const ended = performance.now();
    patch.push(written - began);
    call.push(ended - written);
    both.push(ended - began);
  }
  await client.delete(Pods, { namespace, name: "floor" }, { gracePeriodSeconds: 0 });
  await http.close();
  return { patch, call, both };
}
