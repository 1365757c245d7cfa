import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigMaps, Events } from "#model/core-kinds.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { aMap, openTestStore, refusal, type TestStore } from "../../../../test/world/bare-store.ts";

const at = (name: string) => ({ namespace: "default", name });
const minutes = (count: number) => count * 60_000;

async function rewrite(store: TestStore, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await store.patch(ConfigMaps, at("m"), { type: "merge", body: { data: { i: String(Math.random()) } } });
}

/** Goes a year ahead, until the compactor notices. */
class ClockSetBack extends SteppedClock {
  ahead = minutes(60 * 24 * 365);

  override now(): number {
    return super.now() + this.ahead;
  }
}

test("history is kept while it is young or there is little of it, then forgotten step by step", async () => {
  using store = openTestStore({ history: { revisions: 50, ms: minutes(5) } });
  await store.create(ConfigMaps, aMap("m"));
  await rewrite(store, 1000);
  await store.clock.step(minutes(4));
  expect(store.stats().compactedRevision).toBe(0);
  await store.clock.step(minutes(2));
  const { compactedRevision, newestRevision, revisions } = store.stats();
  expect(compactedRevision).toBe(newestRevision - 50);
  // The last fifty, what was current before them, and the namespaces.
  expect(revisions).toBe(50 + 1 + 4);

  await store.clock.step(minutes(60));
  expect(store.stats().compactedRevision).toBe(compactedRevision);
  await rewrite(store, 10);
  await store.clock.step(minutes(1));
  expect(store.stats().compactedRevision).toBe(compactedRevision + 10);
});

test("what was written between two looks is forgotten at its own age", async () => {
  using store = openTestStore({ history: { revisions: 0, ms: minutes(5) } });
  await store.create(ConfigMaps, aMap("m"));
  const first = store.stats().newestRevision;
  await store.clock.step(minutes(3));
  await rewrite(store, 5);
  await store.clock.step(minutes(3));
  expect(store.stats().compactedRevision).toBe(first);
  await store.clock.step(minutes(3));
  expect(store.stats().compactedRevision).toBe(first + 5);
});

test("a clock that was set back does not keep history for ever", async () => {
  const clock = new ClockSetBack();
  using store = openTestStore({ clock, history: { revisions: 10, ms: minutes(5) } });
  await store.create(ConfigMaps, aMap("m"));
  await rewrite(store, 100);
  clock.ahead = 0;
  await rewrite(store, 20);
  await clock.step(minutes(10));
  expect(store.stats().compactedRevision).toBe(store.stats().newestRevision - 10);
});

test("objects are not history: however old, they stay", async () => {
  using store = openTestStore({ history: { revisions: 0, ms: 0 } });
  const made = await store.create(ConfigMaps, aMap("m"));
  await store.create(ConfigMaps, aMap("gone"));
  await store.delete(ConfigMaps, at("gone"));
  await store.clock.step(minutes(10));
  expect(store.stats().compactedRevision).toBe(store.stats().newestRevision);
  expect(await store.get(ConfigMaps, at("m"))).toBe(made);
  expect(store.stats().revisions).toBe(1 + 4);
});

test("events go an hour after they were last written", async () => {
  using store = openTestStore();
  const event = (name: string) => ({ metadata: at(name), involvedObject: {} });
  await store.create(Events, event("old"));
  await store.create(ConfigMaps, aMap("m"));
  await store.clock.step(minutes(30));
  await store.create(Events, event("repeated"));
  await store.clock.step(minutes(20));
  await store.patch(Events, at("repeated"), { type: "merge", body: { count: 2 } });
  await store.clock.step(minutes(11));
  expect((await refusal(store.get(Events, at("old")))).reason).toBe("NotFound");
  await store.clock.step(minutes(47));
  await store.get(Events, at("repeated"));
  await store.clock.step(minutes(3));
  expect((await store.list(Events)).items).toEqual([]);
  await store.get(ConfigMaps, at("m"));
});

test("the file becomes small again when what was in it is forgotten, and what is still there can be read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-space-"));
  try {
    const file = join(folder, "objects.db");
    using store = openTestStore({ file, history: { revisions: 0, ms: minutes(5) } });
    const data = { text: "x".repeat(8000) };
    for (let number = 0; number < 2000; number++) await store.create(ConfigMaps, aMap(`m${number}`, { data }));
    for (let number = 1; number < 2000; number++) await store.delete(ConfigMaps, at(`m${number}`));
    const before = statSync(file).size;
    await store.clock.step(minutes(6));
    await store.clock.step(minutes(1));
    expect(before).toBeGreaterThan(16_000_000);
    expect(statSync(file).size).toBeLessThan(1_000_000);
    expect(statSync(`${file}-wal`).size).toBeLessThan(1_000_000);
    expect((await store.get(ConfigMaps, at("m0"))).data).toEqual(data);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
