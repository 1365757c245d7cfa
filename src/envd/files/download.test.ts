import { expect, test } from "vitest";
import { chosenEncoding } from "./download.ts";
import { byteRange } from "./download.ts";

test.for<[string | undefined, string | undefined]>([
  [undefined, "identity"],
  ["", "identity"],
  ["gzip, deflate", "gzip"],
  ["gzip;q=0.5, identity;q=0.8", "identity"],
  ["gzip;q=0", "identity"],
  ["*", "gzip"],
  ["identity;q=0", undefined],
  ["*;q=0", undefined],
  ["br, *;q=0", undefined],
])("a client that accepts %j gets %s", ([header, wanted]) => {
  expect(chosenEncoding(header)).toBe(wanted);
});

test.for<[string, ReturnType<typeof byteRange>]>([
  ["bytes=0-0", { start: 0, end: 0 }],
  ["bytes=5-", { start: 5, end: 9 }],
  ["bytes=-3", { start: 7, end: 9 }],
  ["bytes=-30", { start: 0, end: 9 }],
  ["bytes=3-300", { start: 3, end: 9 }],
  ["bytes=10-", "none"],
  ["bytes=-0", "none"],
  ["bytes=5-3", "all"],
  ["bytes=0-1,4-5", "all"],
  ["bytes=-", "all"],
  ["", "all"],
])("of ten bytes %s is %j", ([header, wanted]) => {
  expect(byteRange(header, 10)).toEqual(wanted);
});
