import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recordedLog } from "../../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import { keepLife, lostBefore, noteDown, noteRestored } from "./node-life.ts";

let home = "";
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "agentbox-life-"))));
afterEach(() => rmSync(home, { recursive: true }));

/** As if the machine had been started anew since. */
function otherBoot(): void {
  const file = join(home, "node-life.json");
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, "utf8")) as object), bootId: "another" }));
}

test("a node that only ended lost nothing", async () => {
  const clock = new SteppedClock();
  const { log } = recordedLog();
  expect(lostBefore(home, clock.now())).toBeUndefined();
  keepLife({ home, clock, log })[Symbol.dispose]();
  expect(lostBefore(home, clock.now())).toBeUndefined();
});

test("after a restart of the machine all ended when the node was last known to live, also if the next process does not live long", async () => {
  const clock = new SteppedClock();
  const { log } = recordedLog();
  using _ = keepLife({ home, clock, log });
  await clock.step(25_000);
  const diedAt = clock.now() - 5_000;
  otherBoot();
  const startedAt = clock.now() + 3_600_000;
  const lost = { reason: "NodeRestarted", at: diedAt, until: startedAt };
  expect(lostBefore(home, startedAt)).toMatchObject(lost);
  const later = new SteppedClock(startedAt);
  using next = keepLife({ home, clock: later, log });
  expect(next).toBeDefined();
  expect(lostBefore(home, startedAt + 1_000)).toMatchObject(lost);
});

test("down is the end of all that ran, and not of what a restart of the machine had ended before", () => {
  noteDown(home, 1_000);
  expect(lostBefore(home, 9_000)).toMatchObject({ reason: "ServerDown", at: 1_000, until: 1_000 });
  otherBoot();
  noteDown(home, 5_000);
  expect(lostBefore(home, 9_000)).toMatchObject({ reason: "NodeRestarted", at: 1_000 });
});

test("what a restored folder has on record ended with its backup, whichever boot of the machine starts it first", async () => {
  const backupAt = Date.parse("2026-01-01T00:00:00Z");
  const clock = new SteppedClock(backupAt + 86_400_000);
  noteRestored(home, backupAt, clock.now());
  const lost = { reason: "RestoredFromBackup", at: backupAt, until: clock.now() };
  expect(lostBefore(home, clock.now() + 5_000)).toMatchObject({ ...lost, message: expect.stringContaining("2026-01-01T00:00:00.000Z") });
  const { log } = recordedLog();
  using _ = keepLife({ home, clock, log });
  expect(lostBefore(home, clock.now())).toMatchObject(lost);
  otherBoot();
  expect(lostBefore(home, clock.now())).toMatchObject({ reason: "NodeRestarted" });
});

test("a backup that was made on a machine whose clock is ahead ends what it holds all the same", () => {
  noteRestored(home, 9_000, 1_000);
  expect(lostBefore(home, 2_000)).toMatchObject({ at: 9_000, until: 9_000 });
});
