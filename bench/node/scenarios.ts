/** What is measured. Each scenario gives milliseconds, one per sample, or a rate; run.ts puts them beside the floor. */
import { readFileSync } from "node:fs";
import { labelKeys } from "#model/keys.ts";
import { type Pod, Pods, type PodSpec } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { isReady, type PodWatch } from "../../test/world/pod-watch.ts";
import type { RealNode } from "../../test/world/real-node.ts";
import { timed } from "../lib/measure.ts";
import { answering } from "./health.ts";
import type { PlainRunc } from "./plain-runc.ts";

const namespace = "default";
export const poolName = "bench";

export interface Bench {
  readonly world: RealNode;
  readonly watch: PodWatch;
}

const spec: PodSpec = {
  terminationGracePeriodSeconds: 1,
  containers: [{ name: "main", image: "host", readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 } }],
};

export interface Start {
  /** Until the daemon answers a request. */
  readonly answers: number;
  /** Until the pod's status says so. */
  readonly ready: number;
}

export async function createPod({ world, watch }: Bench, name: string, everyMs: number): Promise<Start> {
  const began = performance.now();
  const metadata = { namespace, name, labels: { [labelKeys.sandboxPool]: "by-hand" } };
  await world.store.create(Pods, { metadata, spec });
  const ready = watch.when((pods) => isReady(pods.get(name))).then(() => performance.now() - began);
  await watch.when((pods) => pods.get(name)?.status?.podIP !== undefined);
  await answering(watch.pods.get(name)?.status?.podIP ?? "", { everyMs });
  return { answers: performance.now() - began, ready: await ready };
}

export async function deletePod({ world, watch }: Bench, name: string): Promise<number> {
  const began = performance.now();
  await world.store.delete(Pods, { namespace, name });
  await watch.when((pods) => !pods.has(name));
  return performance.now() - began;
}

/** `runc run` by hand, and from its beginning until the daemon in it answers. */
export async function floorRun(floor: PlainRunc, everyMs: number): Promise<{ readonly run: number; readonly answers: number }> {
  const bundle = await floor.prepare();
  const began = performance.now();
  await bundle.run();
  const run = performance.now() - began;
  await answering(bundle.ip, { everyMs });
  const answers = performance.now() - began;
  await bundle.remove();
  return { run, answers };
}

/** All prepared bundles let go at once: until the last daemon answers. */
export async function floorAtOnce(floor: PlainRunc, count: number): Promise<number> {
  const bundles = [];
  for (let i = 0; i < count; i++) bundles.push(await floor.prepare());
  const began = performance.now();
  await Promise.all(bundles.map((bundle) => bundle.run().then(() => answering(bundle.ip, { everyMs: 10 }))));
  const ms = performance.now() - began;
  await Promise.all(bundles.map((bundle) => bundle.remove()));
  return ms;
}

/** Another image in the same pod: until another daemon answers at the same address. */
export async function swap({ world, watch }: Bench, name: string, image: string): Promise<number> {
  const ip = watch.pods.get(name)?.status?.podIP ?? "";
  const before = await answering(ip);
  const began = performance.now();
  const operations = [{ op: "replace", path: "/spec/containers/0/image", value: image }] as const;
  await world.store.patch(Pods, { namespace, name }, { type: "json", operations });
  await answering(ip, { everyMs: 2, not: before });
  const ms = performance.now() - began;
  await watch.when((pods) => isReady(pods.get(name)) && pods.get(name)?.status?.containerStatuses?.[0]?.image === image);
  return ms;
}

export async function freezeAndThaw(
  { world, watch }: Bench,
  name: string,
): Promise<{ readonly freeze: number[]; readonly thaw: number[] }> {
  const uid = watch.pods.get(name)?.metadata.uid ?? "";
  const { runtime } = world.node;
  const times = { freeze: [] as number[], thaw: [] as number[] };
  for (let i = 0; i < 50; i++) {
    times.freeze.push(...(await timed(1, 1, () => runtime.freezePod(uid))).ms);
    times.thaw.push(...(await timed(1, 1, () => runtime.thawPod(uid))).ms);
  }
  return times;
}

export async function makePool({ world }: Bench): Promise<void> {
  const runtimes = [{ name: "e2b", port: 49_983, readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 } }];
  await world.store.create(SandboxPools, {
    metadata: { namespace, name: poolName },
    spec: { replicas: 0, podCreationImagePolicy: "PoolDefaultImage", runtimes, template: { spec } },
  });
}

/** Until as many pods of the pool are ready, or gone. */
export async function scalePool({ world, watch }: Bench, replicas: number): Promise<number> {
  const began = performance.now();
  await world.store.patch(SandboxPools, { namespace, name: poolName }, { type: "merge", body: { spec: { replicas } } });
  await watch.when((pods) => ofPool(pods).length === replicas && ofPool(pods).every(isReady));
  return performance.now() - began;
}

/** A pod of the pool is deleted: until another one stands in its place, ready. */
export async function reset({ world, watch }: Bench): Promise<number> {
  const size = ofPool(watch.pods).length;
  const name = ofPool(watch.pods)[0]?.metadata.name ?? "";
  const began = performance.now();
  await world.store.delete(Pods, { namespace, name });
  await watch.when((pods) => !pods.has(name) && ofPool(pods).length === size && ofPool(pods).every(isReady));
  return performance.now() - began;
}

function ofPool(pods: ReadonlyMap<string, Pod>): Pod[] {
  return [...pods.values()].filter(({ metadata }) => metadata.labels?.[labelKeys.sandboxPool] === poolName);
}

/** Of all processes in idle sandboxes, per sandbox, in bytes. */
export function memory(pids: readonly string[], sandboxes: number): { readonly privateDirty: number; readonly pss: number } {
  let [privateDirty, pss] = [0, 0];
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    privateDirty += Number(/^Private_Dirty:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
    pss += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
  }
  return { privateDirty: privateDirty / sandboxes, pss: pss / sandboxes };
}
