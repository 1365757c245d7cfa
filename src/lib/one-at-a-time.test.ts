import { expect, test } from "vitest";
import { OneAtATime } from "./one-at-a-time.ts";

test("work of one key runs one after the other, also behind one that failed, and of other keys beside it", async () => {
  const turns = new OneAtATime();
  const said: string[] = [];
  const first = Promise.withResolvers<void>();
  const failing = turns.run("a", async () => {
    await first.promise;
    said.push("first");
    throw new Error("no");
  });
  const second = turns.run("a", async () => said.push("second"));
  await turns.run("b", async () => said.push("other"));
  expect(said).toEqual(["other"]);
  first.resolve();
  await expect(failing).rejects.toThrow("no");
  await second;
  expect(said).toEqual(["other", "first", "second"]);
});
