import { expect, test, vi } from "vitest";
import { GrowingBuffer } from "./growing-buffer.ts";

test("pieces of any length are the bytes that were added, and what is dropped from the front is gone", () => {
  const all = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
  const growing = new GrowingBuffer();
  for (let from = 0, length = 0; from < all.length; from += length, length = (length + 7) % 613)
    growing.add(all.subarray(from, from + length));
  expect(growing.bytes().equals(all)).toBe(true);
  expect(growing.bytes(10)).toEqual(all.subarray(0, 10));
  growing.drop(9000);
  growing.add(Buffer.from("end"));
  expect(growing.size).toBe(1003);
  expect(growing.bytes()).toEqual(Buffer.concat([all.subarray(9000), Buffer.from("end")]));
});

test("bytes that were handed out do not change with what comes after", () => {
  const growing = new GrowingBuffer();
  growing.add(Buffer.from("ab"));
  const before = growing.bytes();
  growing.drop(2);
  growing.add(Buffer.from("cd"));
  expect(before.toString()).toBe("ab");
});

test("bytes that come one by one are copied a few times each, not once for each that follows", () => {
  using copies = vi.spyOn(Buffer.prototype, "copy");
  const growing = new GrowingBuffer();
  for (let count = 0; count < 100_000; count++) growing.add(Buffer.from([1]));
  expect(growing.size).toBe(100_000);
  const copied = copies.mock.results.reduce((sum, { value }) => sum + Number(value), 0);
  expect(copied).toBeLessThan(300_000);
});
