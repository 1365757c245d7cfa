import { expect, test } from "vitest";
import { RecentOutput } from "./recent-output.ts";

test("the last 64 KiB are kept, in pieces of any size", () => {
  const recent = new RecentOutput();
  expect(recent.bytes).toHaveLength(0);
  const all: Buffer[] = [];
  for (let piece = 0; piece < 500; piece++) {
    const chunk = Buffer.alloc(1 + ((piece * 977) % 3000), piece % 251);
    all.push(chunk);
    recent.add(chunk);
  }
  expect(recent.bytes.equals(Buffer.concat(all).subarray(-64 * 1024))).toBe(true);
  recent.add(Buffer.alloc(1024 * 1024, 7));
  expect(recent.bytes.equals(Buffer.alloc(64 * 1024, 7))).toBe(true);
});
