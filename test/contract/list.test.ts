import { expect, test } from "vitest";
import { ConfigMaps, Secrets } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod, names, refusal } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers, type ContractServer } from "./servers.ts";

/** Five config maps: a (red, 1), b (red, 2), c (blue, 3), d (blue), e (no labels). */
async function fiveMaps(server: ContractServer): Promise<string> {
  const namespace = await server.namespace();
  const labels: Record<string, Record<string, string>> = {
    c: { color: "blue", size: "3" },
    a: { color: "red", size: "1" },
    e: {},
    b: { color: "red", size: "2" },
    d: { color: "blue" },
  };
  for (const [name, own] of Object.entries(labels)) {
    await server.client.create(ConfigMaps, aConfigMap(namespace, name, Object.keys(own).length > 0 ? { metadata: { labels: own } } : {}));
  }
  return namespace;
}

describeServers("listing", (server) => {
  test("a list is ordered by name and carries a version", async () => {
    const namespace = await fiveMaps(server());
    const list = await server().client.list(ConfigMaps, { namespace });
    expect(names(list.items)).toEqual(["a", "b", "c", "d", "e"]);
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
    expect(list.continue).toBeUndefined();
    for (const item of list.items) expect(item).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  });

  test("an empty list has no items and still a version", async () => {
    const list = await server().client.list(SandboxPools, { namespace: await server().namespace() });
    expect(list.items).toEqual([]);
    expect(Number(list.resourceVersion)).toBeGreaterThan(0);
  });

  test("a list of a namespace that does not exist is empty", async () => {
    expect((await server().client.list(ConfigMaps, { namespace: "nowhere-at-all" })).items).toEqual([]);
  });

  test("a list over all namespaces is ordered by namespace, then name", async () => {
    const { client } = server();
    const spaces = [await server().namespace(), await server().namespace()].sort();
    for (const namespace of [...spaces].reverse()) for (const name of ["y", "x"]) await client.create(SandboxPools, aPool(namespace, name));
    const { items } = await client.list(SandboxPools);
    const mine = items.filter((item) => spaces.includes(item.metadata.namespace ?? ""));
    expect(mine.map((item) => `${item.metadata.namespace}/${item.metadata.name}`)).toEqual([
      `${spaces[0]}/x`,
      `${spaces[0]}/y`,
      `${spaces[1]}/x`,
      `${spaces[1]}/y`,
    ]);
  });

  test.for([
    ["color=red", ["a", "b"]],
    ["color==red", ["a", "b"]],
    ["color!=red", ["c", "d", "e"]],
    ["color in (red, blue)", ["a", "b", "c", "d"]],
    ["color notin (red)", ["c", "d", "e"]],
    ["size", ["a", "b", "c"]],
    ["!size", ["d", "e"]],
    ["color=red,size=2", ["b"]],
    ["color in (blue),!size", ["d"]],
    ["size>1", ["b", "c"]],
    ["size<2", ["a"]],
    ["color=green", []],
    ["color=", []],
    ["", ["a", "b", "c", "d", "e"]],
  ] as const)("label selector %j chooses %j", async ([labelSelector, expected]) => {
    const namespace = await fiveMaps(server());
    expect(names((await server().client.list(ConfigMaps, { namespace, labelSelector })).items)).toEqual(expected);
  });

  test.for(["color in red", "=red", "color=red,,size", "a b c", "color in (", "-bad-=x", "color=-bad-", "size>many"])(
    "label selector %j is a bad request",
    async (labelSelector) => {
      const no = await refusal(server().client.list(ConfigMaps, { namespace: await server().namespace(), labelSelector }));
      expect(no).toMatchObject({ reason: "BadRequest", code: 400 });
    },
  );

  test("a field selector chooses by name", async () => {
    const namespace = await fiveMaps(server());
    const select = async (fieldSelector: string) => names((await server().client.list(ConfigMaps, { namespace, fieldSelector })).items);
    expect(await select("metadata.name=c")).toEqual(["c"]);
    expect(await select("metadata.name!=c")).toEqual(["a", "b", "d", "e"]);
    expect(await select(`metadata.namespace=${namespace},metadata.name==d`)).toEqual(["d"]);
    expect(await select("metadata.name=zzz")).toEqual([]);
  });

  test("a field selector chooses pods by phase and node", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(Pods, aPod(namespace, "one", { spec: { nodeName: "node-1" } }));
    const two = await client.create(Pods, aPod(namespace, "two", { spec: { nodeName: "node-2" } }));
    await client.update(Pods, { ...two, status: { ...two.status, phase: "Running" } }, { subresource: "status" });
    const select = async (fieldSelector: string) => names((await client.list(Pods, { namespace, fieldSelector })).items);
    expect(await select("spec.nodeName=node-1")).toEqual(["one"]);
    expect(await select("status.phase=Running")).toEqual(["two"]);
    expect(await select("status.phase!=Running,spec.nodeName=node-2")).toEqual([]);
  });

  test("a field selector chooses secrets by type", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(Secrets, { metadata: { namespace, name: "plain" } });
    await client.create(Secrets, { metadata: { namespace, name: "own" }, type: "example.com/own" });
    expect(names((await client.list(Secrets, { namespace, fieldSelector: "type=example.com/own" })).items)).toEqual(["own"]);
  });

  test("a field selector on a field that cannot be selected is a bad request", async () => {
    const namespace = await server().namespace();
    for (const type of [ConfigMaps, SandboxPools]) {
      const no = await refusal(server().client.list(type, { namespace, fieldSelector: "spec.replicas=1" }));
      expect(no).toMatchObject({ reason: "BadRequest", code: 400 });
      expect(no.message).toContain("spec.replicas");
    }
  });

  test("pages hold `limit` items, say how many remain, and together are the whole list", async () => {
    const namespace = await fiveMaps(server());
    const { client } = server();
    const first = await client.list(ConfigMaps, { namespace, limit: 2 });
    expect(names(first.items)).toEqual(["a", "b"]);
    expect(first.remainingItemCount).toBe(3);
    const second = await client.list(ConfigMaps, { namespace, limit: 2, continue: first.continue });
    expect(names(second.items)).toEqual(["c", "d"]);
    expect(second.remainingItemCount).toBe(1);
    const third = await client.list(ConfigMaps, { namespace, limit: 2, continue: second.continue });
    expect(names(third.items)).toEqual(["e"]);
    expect(third.continue).toBeUndefined();
    expect(third.remainingItemCount).toBeUndefined();
  });

  test("all pages show the state of the first one", async () => {
    const namespace = await fiveMaps(server());
    const { client } = server();
    const first = await client.list(ConfigMaps, { namespace, limit: 2 });
    await client.delete(ConfigMaps, { namespace, name: "d" });
    await client.create(ConfigMaps, aConfigMap(namespace, "cc"));
    await client.patch(ConfigMaps, { namespace, name: "e" }, { type: "merge", body: { data: { greeting: "changed" } } });
    const second = await client.list(ConfigMaps, { namespace, limit: 9, continue: first.continue });
    expect(names(second.items)).toEqual(["c", "d", "e"]);
    expect(second.items[2]?.data).toEqual({ greeting: "hello" });
    expect(second.resourceVersion).toBe(first.resourceVersion);
  });

  test("pages respect selectors and then do not count what remains", async () => {
    const namespace = await fiveMaps(server());
    const { client } = server();
    const first = await client.list(ConfigMaps, { namespace, labelSelector: "color", limit: 3 });
    expect(names(first.items)).toEqual(["a", "b", "c"]);
    expect(first.remainingItemCount).toBeUndefined();
    const second = await client.list(ConfigMaps, { namespace, labelSelector: "color", limit: 3, continue: first.continue });
    expect(names(second.items)).toEqual(["d"]);
  });

  test("a limit that is just met needs no second page", async () => {
    const namespace = await fiveMaps(server());
    const list = await server().client.list(ConfigMaps, { namespace, limit: 5 });
    expect(list.items).toHaveLength(5);
    expect(list.continue).toBeUndefined();
  });

  test("a made-up continue token is a bad request", async () => {
    const no = await refusal(server().client.list(ConfigMaps, { namespace: await server().namespace(), limit: 2, continue: "nonsense" }));
    expect(no).toMatchObject({ reason: "BadRequest", code: 400 });
  });
});
