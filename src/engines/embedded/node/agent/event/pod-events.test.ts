import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Events, Namespaces } from "#model/core-kinds.ts";
import { recordedLog } from "../../../../../../test/world/recorded-log.ts";
import { factsOf } from "../../../../../../test/world/rendered-container.ts";
import { SteppedClock } from "../../../../../../test/world/stepped-clock.ts";
import type { PlannedEvent } from "../plan/action.ts";
import { PodEvents } from "./pod-events.ts";

const { pod } = factsOf({});
const started: PlannedEvent = {
  type: "Normal",
  reason: "Started",
  message: "Container started",
  container: { name: "main", isInit: false },
};

test("an event is beside its pod and tells which container it is about", async () => {
  const clock = new SteppedClock();
  using store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  await store.create(Namespaces, { metadata: { name: "ns" } });
  const metrics = prometheusMetrics(new Registry());
  const events = new PodEvents({ client: store, clock, log: recordedLog().log, metrics, nodeName: "node-1" });
  events.record(pod, started);
  events.record(pod, { ...started, container: { name: "init", isInit: true } });
  events.record(pod, { type: "Warning", reason: "FailedScheduling", message: "no room" });
  await events.written();
  const { items } = await store.list(Events);
  expect(items).toHaveLength(3);
  expect(items[0]).toMatchObject({
    metadata: { namespace: "ns" },
    involvedObject: { kind: "Pod", apiVersion: "v1", namespace: "ns", name: "box", uid: "uid-1" },
    source: { component: "agentbox-node", host: "node-1" },
  });
  expect(items.map(({ reason, involvedObject }) => `${reason} ${involvedObject.fieldPath}`).toSorted()).toEqual([
    "FailedScheduling undefined",
    "Started spec.containers{main}",
    "Started spec.initContainers{init}",
  ]);
});
