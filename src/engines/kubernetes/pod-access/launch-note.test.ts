import fc from "fast-check";
import { expect, test } from "vitest";
import { type LaunchNote, LaunchNoteReader } from "./launch-note.ts";

function read(pieces: readonly Buffer[]): { readonly notes: readonly LaunchNote[]; readonly output: string } {
  const notes: LaunchNote[] = [];
  const reader = new LaunchNoteReader((note) => notes.push(note));
  return { output: Buffer.concat(pieces.map((piece) => reader.take(piece))).toString("latin1"), notes };
}

function cut(bytes: Buffer, at: readonly number[]): readonly Buffer[] {
  const ends = [...at.map((place) => place % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

test("the note is taken off, however the output is cut into pieces, and the rest is the command's", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), fc.array(fc.nat(), { maxLength: 6 }), (output, cuts) => {
      const note = Buffer.from('\u001E{"pid":12,"startTime":"345"}\u001E');
      const all = Buffer.concat([note, output]);
      expect(read(cut(all, cuts))).toEqual({
        notes: [{ kind: "launched", launched: { pid: 12, startTime: "345" } }],
        output: Buffer.from(output).toString("latin1"),
      });
    }),
  );
});

test("output without a note is the command's, all of it", () => {
  expect(read([Buffer.from("exec failed"), Buffer.from(" twice")])).toEqual({ notes: [], output: "exec failed twice" });
  expect(read([Buffer.from("\u001Eno note\u001E and more")])).toEqual({ notes: [], output: "\u001Eno note\u001E and more" });
  const endless = Buffer.concat([Buffer.from("\u001E"), Buffer.alloc(70_000, "x")]);
  expect(read([endless]).output).toHaveLength(70_001);
});

test("why a command could not be started is not its output", () => {
  expect(read([Buffer.from('\u001E{"failed":"no such program","fault":"not-found"}\u001E')])).toEqual({
    notes: [{ kind: "failed", why: "no such program", fault: "not-found" }],
    output: "",
  });
});

test("what a terminal echoes of the request is nobody's output, however it is cut into pieces", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 6 }), (cuts) => {
      const all = Buffer.from('\u001E{"ready":true}\u001EeyJhIjp9\r\n.\r\n\u001E{"pid":12,"startTime":"345"}\u001E\u001Eown');
      expect(read(cut(all, cuts))).toEqual({
        notes: [{ kind: "ready" }, { kind: "launched", launched: { pid: 12, startTime: "345" } }],
        output: "\u001Eown",
      });
    }),
  );
});
