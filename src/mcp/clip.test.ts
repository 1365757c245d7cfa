import fc from "fast-check";
import { expect, test } from "vitest";
import { clip, Collected, textOfPiece } from "./clip.ts";
import { editText } from "./edit-text.ts";

test("a text that is read in pieces of any length is the whole text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), fc.integer({ min: 4, max: 9 }), (text, limit) => {
      fc.pre(!text.includes("\0") && text.isWellFormed());
      const bytes = Buffer.from(text);
      let [read, at] = ["", 0];
      while (at < bytes.length) {
        const part = bytes.subarray(at, at + limit);
        const piece = textOfPiece(part, at + part.length >= bytes.length);
        read += piece?.text ?? "?";
        at += piece?.used ?? bytes.length;
      }
      expect(read).toBe(text);
    }),
  );
});

test("a file that is no text is told from one that is cut in a character", () => {
  expect(textOfPiece(Buffer.from([0x61, 0xc3]), false)).toEqual({ text: "a", used: 1 });
  expect(textOfPiece(Buffer.from([0x61, 0xc3]), true)).toBeUndefined();
  expect(textOfPiece(Buffer.from([0x61, 0]), true)).toBeUndefined();
});

test("a long output keeps its beginning and its end, and says how much is missing", () => {
  expect(clip(Buffer.from("short"), 10)).toEqual({ text: "short", left: 0 });
  const { text, left } = clip(Buffer.from(`begin${"x".repeat(100)}end`), 20);
  expect(left).toBe(88);
  expect(text).toMatch(/^beginx+\n\[… 88 bytes left out …\]\nx+end$/);
});

test("output beyond the limit is counted and not kept", () => {
  const kept = new Collected(3);
  kept.add(Buffer.from("ab"));
  kept.add(Buffer.from("cde"));
  expect([kept.bytes.toString(), kept.lost]).toEqual(["abc", 2]);
});

test("an edit must be meant: its text is there, and once unless every place is meant", () => {
  expect(editText("a b a", { oldText: "b", newText: "$&" })).toEqual({ kind: "edited", text: "a $& a", places: 1 });
  expect(editText("a b a", { oldText: "a", newText: "c", replaceAll: true })).toMatchObject({ text: "c b c", places: 2 });
  expect(editText("a b a", { oldText: "a", newText: "c" })).toMatchObject({
    kind: "refused",
    message: expect.stringContaining("2 times"),
  });
  expect(editText("a", { oldText: "x", newText: "c" }, 3)).toMatchObject({
    kind: "refused",
    message: expect.stringContaining("edits[3].oldText does not occur"),
  });
});

test("places are found as a plain search finds them, one after the other", () => {
  const texts = ["aaaa", "abababab", "aabaabaaab", "xyx", "", "ab"];
  const wanted = ["a", "aa", "ab", "aba", "aab", "aabaaab", "xyxy"];
  for (const text of texts) {
    for (const oldText of wanted) {
      const edited = editText(text, { oldText, newText: "-", replaceAll: true });
      expect(edited.kind === "edited" ? edited.text : text, `${oldText} in ${text}`).toBe(text.split(oldText).join("-"));
    }
  }
});

test("neither the work of an edit nor what it makes grows without bound", () => {
  const text = "a".repeat(1024 * 1024);
  expect(editText(text, { oldText: "a", newText: "b", replaceAll: true })).toMatchObject({
    message: expect.stringContaining("occurs more than 10000 times"),
  });
  const large = { oldText: "a", newText: "b".repeat(1024 * 1024), replaceAll: true };
  expect(editText("aaa", large)).toMatchObject({ message: expect.stringContaining("makes a file of 3145728 characters") });
});
