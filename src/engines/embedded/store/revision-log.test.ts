import type { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { openDataFile } from "./data-file.ts";
import { type Revision, RevisionLog } from "./revision-log.ts";

function openLog(): { readonly log: RevisionLog; readonly db: DatabaseSync } {
  const db = openDataFile({ file: ":memory:", durability: "process-crash", clock: new SteppedClock() });
  return { log: new RevisionLog(db), db };
}

const write = fc.record({
  key: fc.constantFrom("a/x", "a/y", "b/x", "c/z"),
  removes: fc.boolean(),
  resource: fc.constantFrom("pods", "pools"),
});

/** Writes as revisions; a removal of what is not there is none. */
function revisions(log: RevisionLog, writes: readonly { key: string; removes: boolean; resource: string }[]): Revision[] {
  const there = new Set<string>();
  const made: Revision[] = [];
  for (const { key, removes, resource } of writes) {
    if (removes && !there.delete(resource + key)) continue;
    if (!removes) there.add(resource + key);
    const rv = made.length + 1;
    made.push({
      rv,
      resource: log.resourceId(resource),
      key,
      writtenAt: rv * 10,
      note: undefined,
      data: removes ? undefined : `{"rv":${rv}}`,
    });
  }
  return made;
}

test("compaction forgets history, but no state and no change from its version on", () => {
  fc.assert(
    fc.property(fc.array(write, { minLength: 1, maxLength: 40 }), fc.nat(), fc.nat(), (writes, first, second) => {
      const { log, db } = openLog();
      const all = revisions(log, writes);
      if (all.length === 0) return;
      log.append(all);
      const show = (rv: number) =>
        ["pods", "pools"].map((name) => {
          const resource = log.resourceId(name);
          const state = log.snapshot(resource, { prefix: "", from: "" }, rv, 100).filter((row) => !row.deleted);
          return { state, changes: log.changes(resource, rv, all.length, 100) };
        });
      const floors = [first % (all.length + 1), second % (all.length + 1)].sort((a, b) => a - b);
      for (const floor of floors) {
        const before = Array.from({ length: all.length - floor + 1 }, (_, i) => show(floor + i));
        log.compact(floor);
        expect(Array.from({ length: all.length - floor + 1 }, (_, i) => show(floor + i))).toEqual(before);
        expect(log.newest()).toBe(all.length);
      }
      const counted = Number(db.prepare("SELECT count(*) AS n FROM revisions").get()?.["n"]);
      const live = [...log.live()].length;
      expect(log.revisions).toBe(counted);
      // What is left: one revision for each object that was there at the floor, and everything after it.
      expect(counted).toBeLessThanOrEqual(live + (all.length - (floors[1] ?? 0)) + 4);
      db.close();
    }),
  );
});

test("a version is never given twice, even if the newest revision is compacted away", () => {
  const { log, db } = openLog();
  const resource = log.resourceId("pods");
  const at = { resource, key: "a/x", writtenAt: 0, note: undefined };
  log.append([
    { ...at, rv: 1, data: "{}" },
    { ...at, rv: 2, data: undefined },
  ]);
  log.compact(2);
  expect(Number(db.prepare("SELECT count(*) AS n FROM revisions").get()?.["n"])).toBe(0);
  expect(new RevisionLog(db).newest()).toBe(2);
  db.close();
});

test("revisions that belong together are written all or not at all", () => {
  const { log, db } = openLog();
  const at = { resource: 1, key: "a/x", writtenAt: 0, note: undefined, data: "{}" };
  log.append([{ ...at, rv: 1 }]);
  expect(() =>
    log.append([
      { ...at, rv: 2 },
      { ...at, rv: 1 },
    ]),
  ).toThrow("UNIQUE");
  expect(log.newest()).toBe(1);
  log.append([{ ...at, rv: 2 }]);
  db.close();
});

test("the newest version at a time is found among gaps", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 20 }), fc.integer({ min: 0, max: 700 }), (versions, time) => {
      const { log, db } = openLog();
      const sorted = versions.toSorted((a, b) => a - b);
      for (const rv of sorted) log.append([{ rv, resource: 1, key: `k${rv}`, writtenAt: rv * 10, note: undefined, data: "{}" }]);
      expect(log.newestAt(time)).toBe(sorted.findLast((rv) => rv * 10 <= time) ?? 0);
      db.close();
    }),
  );
});
