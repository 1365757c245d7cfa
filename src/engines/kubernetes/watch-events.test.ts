import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { decodeEvent, LineBuffer } from "./watch-events.ts";

describe("lines", () => {
  test("are the same however the stream is cut, even inside a character", () => {
    const lineText = fc.string({ unit: fc.constantFrom("a", "ß", "漢", "🙂", '"', "\\n") });
    fc.assert(
      fc.property(fc.array(lineText), fc.array(fc.nat(), { maxLength: 20 }), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""), "utf8");
        const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].toSorted((a, b) => a - b);
        const buffer = new LineBuffer(1_000_000);
        const got = places.flatMap((place, index) => buffer.push(bytes.subarray(place, places[index + 1] ?? bytes.length)));
        expect(got).toEqual(lines);
        expect(buffer.isCut).toBe(false);
      }),
    );
  });

  test("that never end are refused instead of kept", () => {
    const buffer = new LineBuffer(10);
    buffer.push(Buffer.from("12345678\n1234567"));
    expect(buffer.isCut).toBe(true);
    expect(() => buffer.push(Buffer.from("8901"))).toThrow("a watch event is longer than 10 bytes");
  });
});

function decode(event: unknown): unknown {
  return decodeEvent(ConfigMaps, JSON.stringify(event), "watch of configmaps", { keepManagedFields: false });
}

describe("an event", () => {
  test("carries a frozen object", () => {
    const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a", managedFields: [] } };
    const event = decode({ type: "ADDED", object });
    expect(event).toEqual({ type: "ADDED", object: { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" } } });
    expect(Object.isFrozen(event)).toBe(true);
  });

  test("of type BOOKMARK is only a version", () => {
    expect(decode({ type: "BOOKMARK", object: { kind: "ConfigMap", metadata: { resourceVersion: "12" } } })).toEqual({
      type: "BOOKMARK",
      resourceVersion: "12",
    });
  });

  test("of type ERROR is thrown as what its Status says", () => {
    const status = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version: 1 (9)" };
    const expired = new ApiError("Expired", "too old resource version: 1 (9)", { code: 410 });
    expect(() => decode({ type: "ERROR", object: status })).toThrow(expired);
  });

  test("of a type that we do not know, or no event at all, is refused", () => {
    expect(() => decode({ type: "SUNSET", object: {} })).toThrow("watch of configmaps sent an event of unknown type");
    expect(() => decode({})).toThrow("unknown type");
    expect(() => decodeEvent(ConfigMaps, "{", "watch of configmaps", { keepManagedFields: false })).toThrow("is not JSON");
  });
});
