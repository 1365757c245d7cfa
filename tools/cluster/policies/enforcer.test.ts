import { beforeEach, expect, test } from "vitest";
import { openLog } from "#lib/log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { Enforcer } from "./enforcer.ts";
import type { ClusterView } from "./isolate.ts";

const nothing: ClusterView = { policies: [], pods: [], namespaces: [] };
const closed: ClusterView = {
  policies: [{ metadata: { namespace: "team", name: "closed" }, spec: { podSelector: {} } }],
  pods: [{ metadata: { namespace: "team", name: "py" }, spec: { containers: [] }, status: { podIP: "10.0.0.2" } }],
  namespaces: [],
};

let clock: SteppedClock;
let view: ClusterView | undefined;
let loads: string[];
let isThere: boolean;
let fails: boolean;
let enforcer: Enforcer;
let lines: string;

beforeEach(() => {
  clock = new SteppedClock(0);
  view = nothing;
  loads = [];
  isThere = false;
  fails = false;
  lines = "";
  const load = async (text: string): Promise<void> => {
    if (fails) throw new Error("no such chain");
    loads.push(text);
    isThere = true;
  };
  const log = openLog({ clock, out: { write: (line) => (lines += line) } });
  enforcer = new Enforcer({ view: () => view, table: { load, isThere: async () => isThere }, clock, log });
});

async function changed(seen: ClusterView | undefined): Promise<void> {
  view = seen;
  enforcer.changed();
  await clock.step(20);
}

test("nothing is loaded before the cluster is known, and an open table once it is", async () => {
  await changed(undefined);
  expect(loads).toHaveLength(0);
  expect(await enforcer.isHealthy()).toBe(false);
  await changed(nothing);
  expect(loads).toHaveLength(1);
  expect(loads[0]).not.toContain("elements");
  expect(await enforcer.isHealthy()).toBe(true);
});

test("what changes together is loaded once, and what makes no difference not at all", async () => {
  await changed(nothing);
  view = closed;
  for (let i = 0; i < 5; i++) enforcer.changed();
  await clock.step(20);
  expect(loads).toHaveLength(2);
  expect(loads[1]).toContain("10.0.0.2 : jump ingress_0");
  await changed({ ...closed, pods: [...closed.pods, { metadata: { namespace: "other", name: "py" }, spec: { containers: [] } }] });
  expect(loads).toHaveLength(2);
});

test("a table that cannot be loaded is tried again, and until then the enforcer is not healthy", async () => {
  await changed(nothing);
  fails = true;
  await changed(closed);
  expect(await enforcer.isHealthy()).toBe(false);
  expect(lines).toContain("no such chain");
  fails = false;
  await clock.step(1000);
  expect(loads).toHaveLength(2);
  expect(await enforcer.isHealthy()).toBe(true);
});

test("a table that somebody took away comes back by itself", async () => {
  await changed(closed);
  isThere = false;
  await clock.step(10_020);
  expect(isThere).toBe(true);
  expect(loads).toEqual([loads[0], loads[0]]);
  isThere = false;
  expect(await enforcer.isHealthy()).toBe(false);
  await clock.step(20);
  expect(await enforcer.isHealthy()).toBe(true);
});

test("who was stopped does nothing more", async () => {
  enforcer.changed();
  enforcer.stop();
  await clock.step(60_000);
  expect(loads).toHaveLength(0);
});
