/** The loop as controllers use it: an informer feeds keys, the reconciler reads the cache and writes, a lease elects the leader. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type Controller, type ControllerOptions, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import { Informer } from "#kube/informer/informer.ts";
import { startLeaderElection } from "#kube/leader/leader-election.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { aConfigMap, until } from "./helpers.ts";
import { fastTiming } from "./leader-election.contract.ts";
import { describeServers } from "./servers.ts";

/** Writes the length of its greeting into every map of a namespace: wanted state that a test can check. */
class Measurer implements AsyncDisposable {
  readonly client: ObjectClient;
  readonly namespace: string;
  readonly informer: Informer<ConfigMap>;
  readonly controller: Controller;
  readonly log = recordedLog();
  reconciles = 0;

  constructor(client: ObjectClient, namespace: string, options: Partial<ControllerOptions> = {}) {
    const deps = { client, clock: systemClock, log: this.log.log, metrics: prometheusMetrics(new Registry()) };
    this.client = client;
    this.namespace = namespace;
    this.informer = new Informer(deps, { type: ConfigMaps, namespace });
    this.controller = startController(deps, {
      name: "measurer",
      sources: [changesOf(this.informer, { when: (now) => now?.data?.["greeting"] !== undefined })],
      reconcile: (key, signal) => this.measure(key, signal),
      ...options,
    });
    this.informer.start();
  }

  async measure(key: Key, signal: AbortSignal): Promise<undefined> {
    this.reconciles++;
    const map = this.informer.get(key);
    const length = String(map?.data?.["greeting"]?.length);
    if (map === undefined || map.data?.["length"] === length) return;
    await this.client.update(ConfigMaps, { ...map, data: { ...map.data, length } }, { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.controller.stop();
    await this.informer.stop();
  }
}

const measured = (client: ObjectClient, namespace: string, name: string, length: number): Promise<unknown> =>
  until(client, ConfigMaps, { namespace, name }, (map) => map?.data?.["length"] === String(length));

describeServers("a controller over an informer", (server) => {
  test("brings what was there before it and what comes later to the wanted state, and rests when it is there", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "before", { data: { greeting: "hi" } }));
    await using measurer = new Measurer(client, namespace);
    await measured(client, namespace, "before", 2);
    await client.create(ConfigMaps, aConfigMap(namespace, "later", { data: { greeting: "good day" } }));
    await measured(client, namespace, "later", 8);
    await client.patch(ConfigMaps, { namespace, name: "later" }, { type: "merge", body: { data: { greeting: "bye" } } });
    await measured(client, namespace, "later", 3);
    // Each of three changes wakes it once, and each of its own three writes once more; less if two were seen as one.
    expect(measurer.reconciles).toBeLessThanOrEqual(6);
    expect(measurer.log.lines).toEqual([]);
  });

  test("a write that lost its race is tried again on what is there now", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "x", { data: { greeting: "hi" } }));
    let races = 0;
    await using measurer: Measurer = new Measurer(client, namespace, {
      reconcile: async (key, signal) => {
        if (races++ === 0) {
          const stale = measurer.informer.get(key);
          await client.patch(ConfigMaps, key, { type: "merge", body: { data: { greeting: "hello" } } });
          if (stale !== undefined) await client.update(ConfigMaps, { ...stale, data: { ...stale.data, length: "2" } }, { signal });
        }
        return measurer.measure(key, signal);
      },
    });
    await measured(client, namespace, "x", 5);
    // As often as the cache was behind; at least the once that was arranged.
    expect(measurer.log.lines[0]).toMatchObject({ level: "warn", key: `${namespace}/x`, failures: 1 });
    for (const line of measurer.log.lines) expect(line).toMatchObject({ error: { reason: "Conflict" } });
  });

  test("of two processes only the leader works, and the other takes over when it stops", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const worked: string[] = [];
    const stand = (identity: string) =>
      startLeaderElection(
        { client, clock: systemClock, log: recordedLog().log, metrics: prometheusMetrics(new Registry()) },
        {
          namespace,
          name: "measurer",
          identity,
          timing: fastTiming,
          lead: async (signal) => {
            worked.push(identity);
            await using measurer = new Measurer(client, namespace, { signal });
            await measurer.controller.started;
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          },
        },
      );
    const a = stand("a");
    await client.create(ConfigMaps, aConfigMap(namespace, "first", { data: { greeting: "hi" } }));
    await measured(client, namespace, "first", 2);
    const b = stand("b");
    await client.create(ConfigMaps, aConfigMap(namespace, "second", { data: { greeting: "hello" } }));
    await measured(client, namespace, "second", 5);
    await a.stop();
    await client.create(ConfigMaps, aConfigMap(namespace, "third", { data: { greeting: "good day" } }));
    await measured(client, namespace, "third", 8);
    await b.stop();
    expect(worked).toEqual(["a", "b"]);
  });
});
