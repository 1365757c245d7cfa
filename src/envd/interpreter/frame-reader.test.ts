import fc from "fast-check";
import { expect, test } from "vitest";
import { FrameReader } from "./frame-reader.ts";

const mark = "c0ffee";

/** What comes of the bytes when they come in these pieces. */
function read(bytes: Buffer, cuts: readonly number[]): { readonly text: string; readonly frames: readonly string[] } {
  const reader = new FrameReader(mark);
  const frames: string[] = [];
  const texts: Buffer[] = [];
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((left, right) => left - right), bytes.length];
  for (const [index, start] of edges.slice(0, -1).entries()) {
    for (const part of reader.push(bytes.subarray(start, edges[index + 1]))) {
      if (part.kind === "text") texts.push(Buffer.from(part.bytes));
      else frames.push(part.text);
    }
  }
  return { text: Buffer.concat(texts).toString("utf8"), frames };
}

const output = fc.string().map((text) => text.replaceAll("\0", ""));
const pieces = fc.array(
  fc.string().map((text) => JSON.stringify(text).replaceAll("\0", "")),
  { minLength: 1, maxLength: 3 },
);

test("output and frames are told apart, however they arrive", () => {
  const parts = fc.array(fc.oneof(output, pieces), { maxLength: 6 });
  fc.assert(
    fc.property(parts, fc.array(fc.nat(), { maxLength: 8 }), (given, cuts) => {
      const bytes = given.map((part) =>
        typeof part === "string"
          ? part
          : part.map((piece, index) => `\0${mark}${index === part.length - 1 ? "." : "+"}${piece}\n`).join(""),
      );
      expect(read(Buffer.from(bytes.join("")), cuts)).toEqual({
        text: given.filter((part) => typeof part === "string").join(""),
        frames: given.filter((part) => typeof part !== "string").map((part) => part.join("")),
      });
    }),
  );
});

test("output that begins like a frame is output", () => {
  expect(read(Buffer.from(`a\0b\0${mark.slice(0, 3)}x`), [2, 4, 6])).toEqual({ text: `a\0b\0${mark.slice(0, 3)}x`, frames: [] });
});
