import { expect, test } from "vitest";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { createObject } from "./create.ts";
import { openDataFile } from "./data-file.ts";
import { deleteObject } from "./delete.ts";
import { GarbageCollector } from "./garbage-collector.ts";
import { RevisionLog } from "./revision-log.ts";
import { StoreState } from "./store-state.ts";
import { bareKinds } from "../../../../test/world/bare-kinds.ts";
import { aMap, backgroundDone, ownedBy } from "../../../../test/world/bare-store.ts";

/** A state whose file can be made read-only, as a full disk would. */
function openState() {
  const clock = new SteppedClock();
  const db = openDataFile({ file: ":memory:", durability: "process-crash", clock });
  const state = new StoreState({ log: new RevisionLog(db), kinds: bareKinds, clock, tailEvents: 10 });
  createObject(state, state.table(Namespaces), { metadata: { name: "default" } }, {});
  const writable = (yes: boolean) => db.exec(`PRAGMA query_only = ${yes ? "OFF" : "ON"}`);
  return { state, clock, maps: state.table(ConfigMaps), writable };
}

test("a write that the file does not take is refused, and what is true stays as it was", () => {
  const { state, maps, writable } = openState();
  const made = createObject(state, maps, aMap("m"), {});
  const before = state.newest;
  const next = { ...made, data: { other: "1" } };
  const heard: string[] = [];
  state.onCommit(({ key }) => heard.push(key));
  writable(false);
  expect(() => state.commit({ table: maps, key: "default/m", object: next })).toThrow(
    "the data file cannot be written: attempt to write a readonly",
  );
  expect(() => state.commit({ table: maps, key: "default/m", object: next }, { table: maps, key: "default/m", object: undefined })).toThrow(
    "readonly",
  );
  expect([state.newest, maps.get("default/m"), maps.tail.next(before), heard]).toEqual([before, made, undefined, []]);
  writable(true);
  state.commit({ table: maps, key: "default/m", object: next });
  expect(state.newest).toBe(before + 1);
});

test("background work that fails is reported and tried again a little later", async () => {
  const { state, clock, maps, writable } = openState();
  const errors: unknown[] = [];
  const collector = new GarbageCollector(state, (error) => errors.push(error));
  const owner = createObject(state, maps, aMap("owner"), {});
  createObject(state, maps, aMap("child", { metadata: ownedBy(owner) }), {});
  await backgroundDone();
  deleteObject(state, maps, { namespace: "default", name: "owner" }, {});
  writable(false);
  await backgroundDone();
  expect(errors).toMatchObject([{ reason: "InternalError" }]);
  writable(true);
  await clock.step(1000);
  await backgroundDone();
  expect(maps.size).toBe(0);
  expect(errors).toHaveLength(1);
  collector.stop();
});

test("changes that are written together are seen together", () => {
  const { state, maps } = openState();
  const made = createObject(state, maps, aMap("m"), {});
  const seen: (number | undefined)[] = [];
  maps.tail.whenChanged(() => seen.push(maps.tail.next(Number(made.metadata.resourceVersion))?.rv, maps.tail.next(state.newest - 1)?.rv));
  state.commit(
    { table: maps, key: "default/m", object: { ...made, metadata: { ...made.metadata, labels: { a: "b" } } } },
    { table: maps, key: "default/m", object: undefined },
  );
  expect(seen).toEqual([state.newest - 1, state.newest]);
});
