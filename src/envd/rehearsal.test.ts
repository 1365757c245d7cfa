import { expect, test } from "vitest";
import { rehearseCommand } from "./rehearsal.ts";

test("a rehearsal that cannot start anything ends as well", async () => {
  expect(await rehearseCommand("/nowhere/helper")).toMatch(/200 [^]*"error":/);
});
