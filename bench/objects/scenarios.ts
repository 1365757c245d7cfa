/** What is measured. Each scenario takes a client and gives numbers; run.ts puts them side by side. */
import { Informer } from "#kube/informer/informer.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { Pods, type Pod } from "#model/pod.ts";
import { podIndexes } from "#read-model/indexes.ts";
import { heapBytes, percentile, timed } from "../lib/measure.ts";
import { samplePod, sampleStatus } from "./sample-pod.ts";

const namespace = "default";
const log = openLog({ clock: systemClock, out: process.stderr });

/** Creates pods [from, to) with their status. */
export async function fillPods(client: ObjectClient, from: number, to: number): Promise<number> {
  const { perSecond } = await timed(to - from, 32, async (i) => {
    const made = await client.create(Pods, samplePod(namespace, from + i));
    await client.update(Pods, { ...made, status: sampleStatus(from + i) }, { subresource: "status" });
  });
  return perSecond * 2;
}

/** The write of a claim: labels, annotations and image of one pod, on the version that was seen. */
export async function conditionalPatches(
  client: ObjectClient,
  n: number,
  parallel: number,
): Promise<{ p50: number; p99: number; perSecond: number }> {
  const pods = [...(await client.list(Pods, { namespace, limit: Math.max(parallel * 4, 64) })).items];
  const { ms, perSecond } = await timed(n, parallel, async (i) => {
    const slot = i % pods.length;
    const pod = pods[slot];
    if (pod?.metadata.name === undefined) throw new Error("fill pods first");
    pods[slot] = await client.patch(
      Pods,
      { namespace, name: pod.metadata.name },
      {
        type: "merge",
        body: {
          metadata: {
            resourceVersion: pod.metadata.resourceVersion ?? "",
            labels: { "agentbox.navix.sh/sandbox-phase": "running", "agentbox.navix.sh/sandbox-id": `s${i}` },
            annotations: { "agentbox.navix.sh/claimed-at": new Date().toISOString(), "agentbox.navix.sh/idle-timeout": "600" },
          },
        },
      },
    );
  });
  return { p50: percentile(ms, 0.5), p99: percentile(ms, 0.99), perSecond };
}

/** One write at a time, to ten watchers: how long until the last of them has it, and events per second in a burst. */
export async function fanOut(
  client: ObjectClient,
  watchers: number,
  writes: number,
): Promise<{ lastP50: number; eventsPerSecond: number }> {
  const { resourceVersion, items } = await client.list(Pods, { namespace, limit: 200 });
  const stop = new AbortController();
  const seen = Array.from({ length: watchers }, () => 0);
  let wake = (): void => {};
  const running = seen.map(async (_, index) => {
    try {
      for await (const event of client.watch(Pods, { namespace, resourceVersion, signal: stop.signal })) {
        if (event.type === "BOOKMARK") continue;
        seen[index] = (seen[index] ?? 0) + 1;
        wake();
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    }
  });
  const all = (count: number) =>
    new Promise<void>((resolve) => {
      wake = () => seen.every((own) => own >= count) && resolve();
      wake();
    });
  const write = (i: number) => touch(client, items, i);
  const last: number[] = [];
  for (let i = 0; i < 100; i++) {
    const began = performance.now();
    await write(i);
    await all(i + 1);
    last.push(performance.now() - began);
  }
  const began = performance.now();
  await timed(writes, 32, write);
  await all(100 + writes);
  const eventsPerSecond = ((writes * watchers) / (performance.now() - began)) * 1000;
  stop.abort();
  await Promise.all(running);
  return { lastP50: percentile(last, 0.5), eventsPerSecond };
}

function touch(client: ObjectClient, pods: readonly Pod[], i: number): Promise<Pod> {
  const name = pods[i % pods.length]?.metadata.name ?? "";
  const annotations = { "agentbox.navix.sh/last-active": `${i} ${performance.now()}` };
  return client.patch(Pods, { namespace, name }, { type: "merge", body: { metadata: { annotations } } });
}

/** An informer over all pods: until it is synced, and what a pod costs in its cache, indexes included. */
export async function informer(client: ObjectClient): Promise<{ syncMs: number; pods: number; bytesPerPod: number }> {
  const before = heapBytes();
  const began = performance.now();
  const pods = new Informer({ client, clock: systemClock, log }, { type: Pods, indexes: podIndexes });
  pods.start();
  await pods.whenSynced();
  const syncMs = performance.now() - began;
  const bytes = heapBytes() - before;
  const count = pods.objects.size;
  await pods.stop();
  return { syncMs, pods: count, bytesPerPod: bytes / count };
}

/** Small objects, many of them, for the start-up time. */
export async function fillMaps(client: ObjectClient, n: number): Promise<void> {
  await timed(n, 64, (i) => client.create(ConfigMaps, { metadata: { namespace, name: `object-${i}` }, data: { note: `number ${i}` } }));
}
