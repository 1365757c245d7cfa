import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatSeconds, formatTime, parseCount, parseSeconds, parseStringList, parseStringMap, parseTime } from "./annotation-values.ts";

describe("times in annotations", () => {
  test("are UTC with milliseconds, and come back as they were", () => {
    expect(formatTime(Date.UTC(2026, 0, 2, 3, 4, 5, 6))).toBe("2026-01-02T03:04:05.006Z");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
        expect(parseTime(formatTime(ms))).toBe(ms);
      }),
    );
  });

  test("order as text like they order as time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), fc.integer({ min: 0, max: 4e12 }), (left, right) => {
        expect(formatTime(left) < formatTime(right)).toBe(left < right);
      }),
    );
  });

  test.for([
    ["2026-01-02T03:04:05Z", Date.UTC(2026, 0, 2, 3, 4, 5)],
    ["2026-01-02T03:04:05.123456Z", Date.UTC(2026, 0, 2, 3, 4, 5, 123)],
    ["2026-01-02T05:04:05+02:00", Date.UTC(2026, 0, 2, 3, 4, 5)],
  ] as const)("%s is read, whoever wrote it", ([text, ms]) => {
    expect(parseTime(text)).toBe(ms);
  });

  test.for(["", "soon", "1", "2026", "2026-01-02", "2026-13-02T03:04:05Z", "2026-01-02 03:04:05", "Jan 2 2026"])(
    "%j is no time, so nothing is decided on it",
    (text) => {
      expect(parseTime(text)).toBeUndefined();
    },
  );

  test("that are not there are no time", () => {
    expect(parseTime(undefined)).toBeUndefined();
  });
});

describe("spans in annotations", () => {
  test("are whole seconds, and never shorter than asked for", () => {
    expect([0, 1, 999, 1000, 1001, 600_000].map(formatSeconds)).toEqual(["0", "1", "1", "1", "2", "600"]);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (ms) => {
        expect(parseSeconds(formatSeconds(ms))).toBeGreaterThanOrEqual(ms);
      }),
    );
  });

  test.for(["", "-1", "1.5", "10s", " 5", "1e3", "NaN", "9".repeat(16)])("%j is no number", (text) => {
    expect([parseSeconds(text), parseCount(text)]).toEqual([undefined, undefined]);
  });
});

describe("JSON in annotations", () => {
  test("is read when it has the form that was asked for", () => {
    expect(parseStringMap('{"a":"1","b":""}')).toEqual({ a: "1", b: "" });
    expect(parseStringList('["a","b"]')).toEqual(["a", "b"]);
  });

  test.for(["", "{", "null", "1", '"a"', '["a"]', '{"a":1}', '{"a":"1","b":2}', '{"a":{"b":"c"}}'])("%j is no map of texts", (text) => {
    expect(parseStringMap(text)).toBeUndefined();
  });

  test.for(["", "[", "null", '{"a":"1"}', '["a",1]', "[[]]"])("%j is no list of texts", (text) => {
    expect(parseStringList(text)).toBeUndefined();
  });

  test("whatever stands there, reading does not throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        for (const read of [parseTime, parseSeconds, parseCount, parseStringMap, parseStringList]) read(text);
      }),
    );
  });
});
