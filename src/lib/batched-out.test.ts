import { expect, test } from "vitest";
import { batchedOut } from "./batched-out.ts";

test("lines of one turn are written together, after it and in their order; none is lost when the process ends before", () => {
  const [written, turns]: [string[], (() => void)[]] = [[], []];
  const { out, flush } = batchedOut({ write: (text) => written.push(text) }, (run) => turns.push(run));
  out.write("a\n");
  out.write("b\n");
  expect([written, turns.length]).toEqual([[], 1]);
  turns.shift()?.();
  out.write("c\n");
  expect(written).toEqual(["a\nb\n"]);
  flush();
  turns.shift()?.();
  expect(written).toEqual(["a\nb\n", "c\n"]);
});
