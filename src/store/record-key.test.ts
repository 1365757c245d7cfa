import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareKeys, decodeCursor, encodeCursor, normalTime } from "./record-key.ts";

const anyTime = fc
  .date({ min: new Date("1970-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString());
const anyKey = fc.record({ claimedAt: anyTime, sandboxId: fc.stringMatching(/^[!-~]{1,40}$/) });

describe("cursors", () => {
  test("come back as they went out, whatever is in an id", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(decodeCursor(encodeCursor(key))).toEqual(key);
      }),
    );
  });

  test("fit into a URL as they are", () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(encodeCursor(key)).toMatch(/^[\w-]+$/);
      }),
    );
  });

  test("that nobody gave out are refused", () => {
    for (const wrong of [
      "",
      "x",
      "%",
      encodeCursor({ claimedAt: "2026-01-01", sandboxId: "a" }),
      `${encodeCursor({ claimedAt: "2026-01-01T00:00:00.000Z", sandboxId: "a" })}=`,
    ]) {
      expect(() => decodeCursor(wrong)).toThrow(expect.objectContaining({ code: "invalid" }));
    }
  });
});

describe("the order of lists", () => {
  test("is newest first, then by id from high to low, and total", () => {
    fc.assert(
      fc.property(anyKey, anyKey, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(-Math.sign(compareKeys(b, a)) + 0);
        expect(compareKeys(a, b) < 0 || Date.parse(a.claimedAt) <= Date.parse(b.claimedAt)).toBe(true);
      }),
    );
    expect(compareKeys({ claimedAt: "2026", sandboxId: "b" }, { claimedAt: "2026", sandboxId: "a" })).toBeLessThan(0);
  });
});

describe("times", () => {
  test("have one form", () => {
    expect(normalTime("2026-01-31T12:00:00+02:00")).toBe("2026-01-31T10:00:00.000Z");
    expect(normalTime("2026-01-31T12:00:00.123456Z")).toBe("2026-01-31T12:00:00.123Z");
    fc.assert(
      fc.property(anyTime, (time) => {
        expect(normalTime(time)).toBe(time);
      }),
    );
  });

  test("outside of four-digit years are none, since their texts would not sort", () => {
    for (const text of ["", "soon", "+010000-01-01T00:00:00.000Z", "0099-01-01T00:00:00.000Z", "-000001-01-01T00:00:00.000Z"]) {
      expect(normalTime(text)).toBeUndefined();
    }
  });
});
