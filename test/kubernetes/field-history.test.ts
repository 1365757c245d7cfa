/** A real API server respects the hint: after one change of ours it keeps no field history of a pod, whatever is written next. */
import { beforeAll, expect, inject, test } from "vitest";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import type { JsonPatch } from "#model/patch.ts";
import { Pods } from "#model/pod.ts";
import { podPatch } from "#sandbox/pod-patch.ts";

const bed = inject("kubernetes");
const key = { namespace: "field-history", name: "seen" };
let client: KubernetesClient;
beforeAll(async () => {
  client = await kubernetesClient({ url: bed.url, token: bed.token, ca: bed.ca, keepManagedFields: true });
  await client.create(Namespaces, { metadata: { name: key.namespace } });
  return async () => {
    await client.delete(Namespaces, { name: key.namespace });
    await client.close();
  };
});

test("a pod has no field history from our first change of it on, also when others write it", async () => {
  const spec = { schedulerName: "nobody", containers: [{ name: "main", image: "registry.invalid/app:1" }] };
  const pod = await client.create(Pods, { metadata: key, spec });
  expect(pod.metadata.managedFields).not.toHaveLength(0);
  const changed = await client.patch(Pods, key, podPatch(pod, { annotations: { ours: "1" } }));
  expect([changed.metadata.managedFields, changed.metadata.annotations]).toEqual([undefined, { ours: "1" }]);
  const told = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  const reported = await client.patch(Pods, key, { type: "merge", body: told }, { subresource: "status" });
  expect([reported.metadata.managedFields, reported.status?.conditions?.[0]?.status]).toEqual([undefined, "True"]);
});

test("other objects keep theirs", async () => {
  await client.create(ConfigMaps, { metadata: key, data: { a: "1" } });
  const change: JsonPatch = { type: "json", operations: [{ op: "replace", path: "/data/a", value: "2" }] };
  expect((await client.patch(ConfigMaps, key, change)).metadata.managedFields).not.toHaveLength(0);
});
