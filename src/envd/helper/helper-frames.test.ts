import fc from "fast-check";
import { expect, test } from "vitest";
import { firstFrame, FrameFields, frameOf, FrameTooLong } from "./helper-frames.ts";

const text = fc.string({ unit: "binary" }).map((any) => any.replaceAll("\0", ""));
const number = fc.integer({ min: 0, max: 2 ** 32 - 1 });

test("what is put into frames is read from them, however the bytes arrive", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(number, text)), fc.nat(), (all, cut) => {
      const bytes = Buffer.concat(all.map((fields) => frameOf(fields)));
      const early = bytes.subarray(0, cut % (bytes.length + 1));
      let received: Buffer = early;
      const read: [number, string][] = [];
      for (const rest of [bytes.subarray(early.length), Buffer.alloc(0)]) {
        for (let frame = firstFrame(received); frame !== undefined; frame = firstFrame(received)) {
          const fields = new FrameFields(frame.content);
          read.push([fields.number(), fields.text()]);
          received = frame.rest;
        }
        received = Buffer.concat([received, rest]);
      }
      expect(read).toEqual(all.map(([one, other]) => [one, Buffer.from(other).toString()]));
    }),
  );
});

test("a frame beyond what the helper keeps is not sent", () => {
  expect(() => frameOf(["x".repeat(5_000_000)])).toThrow(FrameTooLong);
});

test("a text with a zero byte, which would become two, is refused", () => {
  expect(() => frameOf(["one\0two"])).toThrow("a zero byte");
});

test("a frame that lacks a field says so", () => {
  const fields = new FrameFields(Buffer.from("abc"));
  expect(() => fields.number()).toThrow(RangeError);
  expect(() => new FrameFields(Buffer.from("abc")).text()).toThrow(RangeError);
});
