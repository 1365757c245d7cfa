/** A node that says nothing any more: one that exists only as an object, so that no other pod of the cluster is harmed. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test, vi } from "vitest";
import { ClusterNodes } from "#model/cluster-kinds.ts";
import type { Toleration } from "#model/kubernetes.generated.ts";
import { Pods } from "#model/pod.ts";
import { deathOf } from "#sandbox/health/death.ts";
import { fateAfterUse } from "#life/recycle/plan-fate.ts";
import { RenderedPods } from "./pods-rendered.ts";

test("a sandbox whose node is lost has failed for that, when the cluster has given its pod up", { timeout: 240_000 }, async () => {
  const pods = await RenderedPods.open();
  const { client, namespace } = pods;
  const node = `lost-${randomUUID().slice(0, 8)}`;
  const taints = [{ key: "tests.invalid/no-node", effect: "NoSchedule" }];
  await client.create(ClusterNodes, { metadata: { name: node }, spec: { unschedulable: true, taints } } as { metadata: { name: string } });
  onTestFinished(() => client.delete(ClusterNodes, { name: node }));
  const conditions = [{ type: "Ready", status: "True", reason: "KubeletReady", lastHeartbeatTime: new Date().toISOString() }];
  await client.patch(ClusterNodes, { name: node }, { type: "merge", body: { status: { conditions } } }, { subresource: "status" });

  const lost = "node.kubernetes.io/unreachable";
  const tolerations: readonly Toleration[] = [
    { key: lost, operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 },
    { operator: "Exists", effect: "NoSchedule" },
  ];
  const containers = [{ name: "main", image: "registry.invalid/app:1" }];
  const made = {
    metadata: { namespace, name: "sandbox", finalizers: ["tests.invalid/hold"] },
    spec: { nodeName: node, tolerations, containers },
  };
  await vi.waitFor(() => client.create(Pods, made), { timeout: 30_000, interval: 200 });
  const key = { namespace, name: "sandbox" };
  onTestFinished(async () => {
    await client.patch(Pods, key, { type: "merge", body: { metadata: { finalizers: null } } });
    await client.delete(Pods, key, { gracePeriodSeconds: 0 });
  });
  const pod = await vi.waitFor(
    async () => {
      const seen = await client.get(Pods, key);
      expect(deathOf(seen)).toBeDefined();
      return seen;
    },
    { timeout: 180_000, interval: 500 },
  );
  expect(deathOf(pod)).toMatchObject({ failureReason: "NodeLost", failureMessage: expect.stringMatching(/taint|node/i) as string });
  expect(fateAfterUse(pod, { waiting: {}, maxUses: 10 })).toMatchObject({ kind: "replace" });
});
