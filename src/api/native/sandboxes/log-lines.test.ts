import fc from "fast-check";
import { expect, test } from "vitest";
import { LogLines, NewestLines, type LinePart } from "./log-lines.ts";

function linesOf(pieces: readonly Buffer[], longest?: number): LinePart[] {
  const lines = new LogLines(longest);
  return [...pieces.flatMap((piece) => [...lines.add(piece)]), ...lines.end()];
}

function whole(parts: readonly LinePart[]): string[] {
  const lines: string[] = [];
  let open = false;
  for (const { line, partial } of parts) {
    if (open) lines.push((lines.pop() ?? "") + line);
    else lines.push(line);
    open = partial;
  }
  return lines;
}

test("however a log is cut into pieces, its lines are the same", () => {
  const text = fc.array(fc.constantFrom("a", "\n", "é", "😀", "\r"), { maxLength: 40 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.array(fc.nat(60), { maxLength: 5 }), fc.integer({ min: 2, max: 5 }), (log, cuts, longest) => {
      const bytes = Buffer.from(log);
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort((left, right) => left - right);
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      const parts = linesOf(pieces, longest);
      const wanted = log.endsWith("\n") ? log.slice(0, -1).split("\n") : log === "" ? [] : log.split("\n");
      expect(whole(parts)).toEqual(wanted);
      for (const { line } of parts) expect([line.length <= longest, line.isWellFormed()]).toEqual([true, true]);
    }),
  );
});

test("of a long log the newest lines are kept, and it is told that others are missing", () => {
  const newest = new NewestLines(10);
  for (const line of ["aaaa", "bbbb", "cccc"]) newest.add({ line, partial: false });
  expect(newest.result()).toEqual({ lines: ["bbbb", "cccc"], truncated: true });
});

test("a line that alone is too long keeps its end", () => {
  const newest = new NewestLines(10);
  for (const line of ["0123456789", "abcdefghij", "klm"]) newest.add({ line, partial: line !== "klm" });
  expect(newest.result()).toEqual({ lines: ["efghijklm"], truncated: true });
});

test("a log that fits is whole, with its empty lines", () => {
  const newest = new NewestLines(10);
  for (const line of ["a", "", "b"]) newest.add({ line, partial: false });
  expect(newest.result()).toEqual({ lines: ["a", "", "b"], truncated: false });
});

test("a great number of empty lines is no way into our memory", () => {
  const newest = new NewestLines(100);
  for (let turn = 0; turn < 10_000; turn++) newest.add({ line: "", partial: false });
  expect(newest.result()).toMatchObject({ truncated: true });
  expect(newest.result().lines).toHaveLength(100);
});
