/**
 * Two servers, told to do the same, answer the same and tell their watchers the same.
 * Here: the store and its HTTP face; in the Kubernetes run: the store and a real kube-apiserver.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ObjectClient } from "#kube/object-client.ts";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { serverStarters, type StartedServer } from "../world/start-server.ts";
import { Comparable } from "./comparable.ts";
import { aConfigMap, aPod, Watching } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { operation, Operator, type Operation } from "./random-operations.ts";
import { chosenServers } from "./servers.ts";

const real = chosenServers().includes("kubernetes");
const pair = real ? (["embedded", "kubernetes"] as const) : (["embedded", "embedded-http"] as const);
const runs = real ? 120 : 150;

let servers: StartedServer[] = [];
beforeAll(async () => {
  servers = await Promise.all(pair.map((name) => serverStarters[name]()));
}, 120_000);
afterAll(() => Promise.all(servers.map((server) => server.stop())));

test(`random operations have the same outcomes and the same events on ${pair.join(" and ")}`, { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: 30 }), async (operations) => {
      const [first, second] = await Promise.all(servers.map((server) => history(server.client, operations)));
      expect(first).toEqual(second);
    }),
    { numRuns: runs },
  );
});

/** All answers, the final state, and all events of one run, in comparable form. */
async function history(client: ObjectClient, operations: readonly Operation[]): Promise<unknown> {
  const { metadata } = await client.create(Namespaces, { metadata: { generateName: "same-" } });
  const namespace = metadata.name ?? "";
  const comparable = new Comparable(namespace);
  const { resourceVersion } = await client.list(ConfigMaps, { namespace });

  const operator = new Operator(client, namespace);
  const answers: unknown[] = [];
  for (const one of operations) answers.push(comparable.of(await operator.run(one)));

  const ends = [
    await client.create(ConfigMaps, aConfigMap(namespace, "the-end")),
    await client.create(SandboxPools, aPool(namespace, "the-end")),
    await client.create(Pods, aPod(namespace, "the-end")),
  ];
  const events: unknown[] = [];
  for (const type of [ConfigMaps, SandboxPools, Pods]) {
    await using watching = new Watching(client, type, { namespace, resourceVersion });
    for (let event = await watching.next(); event.object.metadata.name !== "the-end"; event = await watching.next()) {
      events.push(comparable.of(event));
    }
  }
  return { answers, events, ends: ends.map((end) => comparable.of(end)) };
}
