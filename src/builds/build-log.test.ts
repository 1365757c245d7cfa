import { expect, test } from "vitest";
import { OutputLines, outputLine, stepLine, stepText } from "./build-log.ts";

test("a step's line has its place, what is done, and its layer", () => {
  const line = { step: 2, count: 5, text: "RUN make", key: "8d0c", isCached: false };
  expect(stepLine(line)).toBe("[builder 2/5] RUN make [8d0c]");
  expect(stepLine({ ...line, isCached: true })).toBe("CACHED [builder 2/5] RUN make [8d0c]");
  expect(stepLine({ ...line, step: "base", text: "FROM host" })).toBe("[base] FROM host [8d0c]");
  expect(outputLine(2, 5, { stream: "stdout", line: "12 passed" })).toBe("[builder 2/5] [stdout]: 12 passed");
});

test("a step reads as in a Dockerfile", () => {
  expect(stepText({ type: "ENV", args: ["A", "1", "B", "x y"] })).toBe("ENV A=1 B=x y");
  expect(stepText({ type: "COPY", args: ["a", "b", "", "0600"] })).toBe("COPY a b 0600");
});

test("output comes in whole lines, however it was cut, and very long ones in pieces", () => {
  const lines = new OutputLines();
  const text = Buffer.from("eins\r\nzwölf\nrest");
  expect([...lines.add(text.subarray(0, 8)), ...lines.add(text.subarray(8, 9)), ...lines.add(text.subarray(9)), ...lines.end()]).toEqual([
    "eins",
    "zwölf",
    "rest",
  ]);
  const long = new OutputLines();
  expect([...long.add(Buffer.alloc(10_000, "a")), ...long.end()].map((line) => line.length)).toEqual([4096, 4096, 1808]);
});
