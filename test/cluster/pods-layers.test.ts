/** Checkpoints of a pod on the real kubelet, without the rest of AgentBox: the agent's half, the controllers' half, and a pod that the kubelet starts from the image. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { expect, inject, onTestFinished, test } from "vitest";
import { checkpointRepository } from "#engines/kubernetes/checkpoints/checkpoint-repository.ts";
import { clusterCheckpoints } from "#engines/kubernetes/checkpoints/cluster-checkpoints.ts";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import { ContainerGroups } from "#engines/kubernetes/node-agent/container-groups.ts";
import { startNodeAgent } from "#engines/kubernetes/node-agent/node-agent.ts";
import { openLayerTaker } from "#engines/kubernetes/node-layer/layer-taker.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { freezerOf, freezerTree } from "#lib/cgroups/freezer.ts";
import { systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { newCheckpointId } from "#model/checkpoint-image.ts";
import { labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { nodeName } from "../../tools/cluster/layout.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { storedPods } from "../world/stored-pods.ts";
import { aPod, push, testNamespace } from "./cluster-under-test.ts";

/** The engine's parts in this process, which is on the cluster's node. */
async function openEngine(namespace: string) {
  const { kubeconfig, registry } = inject("cluster");
  await using parts = new AsyncDisposableStack();
  const { log } = recordedLog();
  const client = parts.adopt(await kubernetesClient({ kubeconfig }), (one) => one.close());
  const deps = { clock: systemClock, random: Math.random };
  const registries = parts.use(new RegistryClient({ ...deps, settings: { private: [registry] } }));
  const repository = checkpointRepository(`${registry}/test-layers`);
  const scratch = parts.adopt(await mkdtemp(join(tmpdir(), "agentbox-layers-")), (folder) => rm(folder, { recursive: true }));
  const tree = freezerTree("/sys/fs/cgroup");
  if (tree === undefined) throw new Error("no control groups can be frozen here");
  const layers = await openLayerTaker({ client: registries, repository, scratch, limits: { maxBytes: 1 << 30 } });
  const freezer = freezerOf(tree.layout, systemClock);
  const metrics = prometheusMetrics(new Registry());
  const own = { client, log, metrics, clock: systemClock, freezer, groups: new ContainerGroups(tree.top), layers };
  await parts.use(startNodeAgent(own, { nodeName, namespace })).started;
  const room = () => ({ used: 0, most: 2 ** 40 });
  const registryDeps = { ...deps, client: registries };
  const given = {
    pods: storedPods(() => client),
    clock: systemClock,
    log,
    registry: registryDeps,
    repository,
    pullSecretsOf: async () => [],
    room,
  };
  const opened = parts.move();
  onTestFinished(() => opened.disposeAsync());
  return { client, checkpoints: clusterCheckpoints(given) };
}

const changes = [
  "busybox rm -r /etc/old && busybox mkdir /etc/old && echo mine > /etc/old/mine",
  "busybox rm /gone; echo text > /tmp/text; busybox chown 1000:33 /tmp/text; busybox chmod 600 /tmp/text",
  "busybox ln /tmp/text /tmp/hard; busybox ln -s text /tmp/soft; busybox mkfifo /tmp/fifo",
].join("; ");
const look =
  "cat /tmp/hard /etc/old/mine; busybox find /etc /tmp /gone 2>/dev/null | busybox sort; busybox stat -c '%n %u:%g %a %h' /tmp/*";

test("what a container has changed is an image that the kubelet starts, and the container goes on", async () => {
  const space = await testNamespace();
  const base = await push({ name: "tests/layers:1", files: { "etc/old/first": "1", gone: "g", "etc/kept": "k" } });
  await space.create(aPod("source", { image: base }));
  await space.untilReady("source");
  await space.exec("source", "sh", "-c", changes);
  const before = await space.exec("source", "sh", "-c", look);
  const labels = [`${labelKeys.sandboxPool}=p`, `${labelKeys.sandboxPhase}=running`, `${labelKeys.sandboxId}=i-1`];
  await space.kubectl("label", "pod", "source", ...labels);
  const { client, checkpoints } = await openEngine(space.name);
  const { metadata } = await client.get(Pods, { namespace: space.name, name: "source" });
  const id = newCheckpointId();
  const pod = { uid: metadata.uid ?? "", namespace: space.name, name: "source" };
  const taken = await checkpoints.take({ id, pod, container: "main", baseImage: base }, new AbortController().signal);
  console.log(`${taken.sizeBytes} bytes, stood still for ${taken.frozenMs} ms`);

  await space.create(aPod("child", { image: taken.image }));
  await space.untilReady("child");
  expect(await space.exec("child", "sh", "-c", look)).toBe(before);
  expect(await space.exec("source", "sh", "-c", look), "the source goes on as it was").toBe(before);
  const { metadata: after, status } = await client.get(Pods, { namespace: space.name, name: "source" });
  expect(Object.keys(after.annotations ?? {}), "nothing of the wish is left").toEqual([]);
  expect(status?.containerStatuses?.[0]?.restartCount).toBe(0);
  await checkpoints.remove(id);
  await expect(
    checkpoints.take({ id, pod: { ...pod, uid: "another" }, container: "main", baseImage: base }, new AbortController().signal),
  ).rejects.toMatchObject({
    reason: "SandboxGone",
  });
});
