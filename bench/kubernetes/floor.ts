/**
 * The least that a claim on a cluster can cost: one conditional write of a pod at its API server, and one HTTP call to a daemon; one after
 * another, and many at once, by a program that does nothing else.
 */
import { Agent } from "undici";
import { type Pod, Pods } from "#model/pod.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { daemonPortOf } from "#sandbox/pods/runtimes.ts";
import { quietMachine } from "../lib/quiet-machine.ts";
import type { SystemWorld } from "../../test/cluster/system-world.ts";

export interface Floor {
  readonly patch: readonly number[];
  readonly call: readonly number[];
  readonly both: readonly number[];
}

/** A pod that is never scheduled: only the API server handles its changes. */
const plainPod = (namespace: string, name: string): Pod => ({
  metadata: { namespace, name },
  spec: { schedulerName: "nobody", containers: [{ name: "main", image: "registry.invalid/none:1" }] },
});

export async function floorOf({ client, namespace }: SystemWorld, pods: readonly Pod[], rounds: number): Promise<Floor> {
  const http = new Agent();
  let pod = await client.create(Pods, plainPod(namespace, "floor"));
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

/** Milliseconds until all of so many writes and calls, begun together, are answered. */
export async function burstFloorOf({ client, namespace }: SystemWorld, pods: readonly Pod[], count: number): Promise<number> {
  const http = new Agent();
  const plain: Pod[] = [];
  for (let number = 0; number < count; number++) plain.push(await client.create(Pods, plainPod(namespace, `floor-${number}`)));
  await quietMachine();
  const began = performance.now();
  await Promise.all(
    plain.map(async (pod, number) => {
      const asked = pods[number % pods.length];
      const key = { namespace, name: pod.metadata.name ?? "" };
      await client.patch(Pods, key, podPatch(pod, { annotations: { round: "1" } }));
      const origin = `http://${asked?.status?.podIP ?? ""}:${asked === undefined ? 0 : daemonPortOf(asked)}`;
      await (await http.request({ origin, path: "/health", method: "GET" })).body.dump();
    }),
  );
  const took = performance.now() - began;
  for (const { metadata } of plain) await client.delete(Pods, { namespace, name: metadata.name ?? "" }, { gracePeriodSeconds: 0 });
  await http.close();
  return took;
}
