/** The least that a claim can cost: one conditional write of a pod, then one HTTP call to its daemon. */
import { request } from "undici";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { SimulatedServer } from "./simulated-server.ts";

export async function floorOf({ store, daemonPort }: SimulatedServer, pods: readonly Pod[]): Promise<readonly number[]> {
  const ms: number[] = [];
  for (const { metadata } of pods) {
    const { namespace, name = "" } = metadata;
    const pod = await store.get(Pods, { namespace, name });
    const began = performance.now();
    await store.patch(Pods, { namespace, name }, podPatch(pod, { annotations: { [annotationKeys.claimedAt]: new Date().toISOString() } }));
    const answer = await request(`http://${pod.status?.podIP ?? ""}:${daemonPort}/init`, { method: "POST", body: "{}" });
    await answer.body.dump();
    ms.push(performance.now() - began);
  }
  return ms;
}
