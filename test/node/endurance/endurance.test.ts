import { expect, test } from "vitest";
import { enduranceRun } from "./endurance-run.ts";

test("twenty sandboxes at once are created, used and deleted, and nothing is left on the machine", { timeout: 180_000 }, async () => {
  expect((await enduranceRun(20)).problems).toEqual([]);
});
