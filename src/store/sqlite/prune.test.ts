import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aRecord, at } from "../../../test/history/records.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { openSqliteHistory } from "./store.ts";

const admin = { kind: "admin" } as const;

test("the file becomes small again when old records are forgotten, and what is still there can be read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-history-"));
  try {
    const file = join(folder, "history.db");
    const history = await openSqliteHistory({ file, clock: new SteppedClock(), durability: "process-crash" });
    const metadata = { text: "x".repeat(4000) };
    for (let number = 0; number < 1500; number++) {
      await history.put(aRecord(`s${number}`, { claimedAt: at(number), terminatedAt: at(number), metadata }));
    }
    const before = statSync(file).size;
    while ((await history.prune({ olderThan: at(1499), limit: 50 })) === 50);
    expect(before).toBeGreaterThan(12_000_000);
    expect(statSync(file).size).toBeLessThan(1_000_000);
    expect((await history.get("s1499", admin))?.metadata).toEqual(metadata);
    expect(await history.get("s1498", admin)).toBeUndefined();
    await history.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
