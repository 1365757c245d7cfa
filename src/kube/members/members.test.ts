import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestStore, type TestStore } from "../../../test/world/bare-store.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { Leases, Namespaces } from "#model/core-kinds.ts";
import { MemberLease } from "./member-lease.ts";
import { Members } from "./members.ts";

const namespace = "agentbox";
const { log } = recordedLog();
let store: TestStore;
let members: Members;

beforeEach(async () => {
  store = openTestStore({ kinds: embeddedKindRules() });
  await store.create(Namespaces, { metadata: { name: namespace } });
  members = new Members({ client: store, clock: store.clock, log }, { namespace, part: "api" });
  await members.run();
});

afterEach(async () => {
  await members.stop();
  store.close();
});

function member(name: string): MemberLease {
  return new MemberLease({ client: store, clock: store.clock, log, random: () => 0.5 }, { namespace, name, part: "api" });
}

const live = (): string[] => [...members.live()].map(({ name, told }) => (told === undefined ? name : `${name}: ${told}`)).sort();

test("who is there is seen, with what it tells, and is gone when it says so", async () => {
  const [a, b] = [member("a"), member("b")];
  await store.clock.step(0);
  expect(live()).toEqual(["a", "b"]);
  a.tell("three wait");
  await store.clock.step(1100);
  expect(live()).toEqual(["a: three wait", "b"]);
  await store.clock.step(60_000);
  expect(live()).toEqual(["a: three wait", "b"]);
  a.tell(undefined);
  await store.clock.step(1100);
  expect(live()).toEqual(["a", "b"]);
  await Promise.all([a.stop(), b.stop()]);
  await store.clock.step(0);
  expect([live(), (await store.list(Leases, { namespace })).items]).toEqual([[], []]);
});

test("however often it changes, what a member tells is written about once a second, and the last of it counts", async () => {
  const a = member("a");
  await store.clock.step(2000);
  const before = Number((await store.get(Leases, { namespace, name: "a" })).metadata.resourceVersion);
  for (let step = 0; step < 100; step++) {
    a.tell(`${step}`);
    await store.clock.step(50);
  }
  await store.clock.step(1100);
  expect(live()).toEqual(["a: 99"]);
  expect(Number((await store.get(Leases, { namespace, name: "a" })).metadata.resourceVersion) - before).toBeLessThanOrEqual(8);
  await a.stop();
});

test("a member that died is none after 15 s of this process's own time, and its lease is removed after ten minutes", async () => {
  const lease = { holderIdentity: "dead", leaseDurationSeconds: 15, renewTime: "2040-01-01T00:00:00.000000Z" };
  const alive = member("alive");
  await store.clock.step(0);
  const { labels } = (await store.get(Leases, { namespace, name: "alive" })).metadata;
  await store.create(Leases, { metadata: { namespace, name: "dead", labels: labels ?? {} }, spec: lease });
  await store.clock.step(15_000);
  expect(live()).toEqual(["alive", "dead"]);
  // Whoever else touches it does not bring it back.
  await store.patch(Leases, { namespace, name: "dead" }, { type: "merge", body: { metadata: { annotations: { note: "x" } } } });
  await store.clock.step(1000);
  expect(live()).toEqual(["alive"]);
  await store.clock.step(11 * 60_000);
  expect((await store.list(Leases, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual(["alive"]);
  await alive.stop();
});
