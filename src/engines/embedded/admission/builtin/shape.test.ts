import { describe, expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { UnreadableError } from "./scalars.ts";
import { decodeObject, shapesOf } from "./shape.ts";

const thing = shapesOf({
  Below: { text: "string", fixed: "string=tcp" },
  Thing: {
    text: "string",
    kept: "string?",
    written: "string!",
    fallback: "int32=5",
    keptFallback: "int64?=7",
    flag: "bool",
    amount: "quantity",
    port: "intOrString",
    time: "time",
    micro: "microTime?",
    bytes: "bytes",
    optional: "Below",
    always: "Below!",
    list: "[]Below",
    texts: "[]string",
    map: "{}quantity",
    free: "any",
    gone: "dropped",
  },
})("Thing");

const empty = { written: "", fallback: 5, keptFallback: 7, always: { fixed: "tcp" } };

function decode(value: Record<string, unknown>): unknown {
  return decodeObject(thing, deepFreeze(value)).value;
}

test("an empty object gets what is always written", () => {
  expect(decode({})).toEqual(empty);
});

test("empty values are left out, unless they are kept or always written", () => {
  expect(decode({ text: "", kept: "", written: "", flag: false, fallback: 0, keptFallback: 0, texts: [], map: {} })).toEqual({
    ...empty,
    kept: "",
    keptFallback: 0,
  });
});

test("null is the same as nothing", () => {
  const nulls = Object.fromEntries(
    ["text", "kept", "written", "fallback", "keptFallback", "flag", "optional", "always", "list", "map", "free"].map((key) => [key, null]),
  );
  expect(decode(nulls)).toEqual(empty);
});

test("null items are empty items", () => {
  expect(decode({ texts: [null], list: [null], map: { cpu: null } })).toEqual({
    ...empty,
    texts: [""],
    list: [{ fixed: "tcp" }],
    map: { cpu: "0" },
  });
});

test("quantities and times take their canonical form", () => {
  const value = { amount: 0.5, time: "2020-01-01T00:00:00.9+01:00", micro: "2020-01-01T00:00:00.123456+01:00", bytes: "aG\nk=" };
  expect(decode(value)).toEqual({
    ...empty,
    amount: "500m",
    time: "2019-12-31T23:00:00Z",
    micro: "2019-12-31T23:00:00.123456Z",
    bytes: "aGk=",
  });
});

test("what is in canonical form already stays the same object", () => {
  const value = deepFreeze({ ...empty, list: [{ text: "x", fixed: "udp" }], map: { cpu: "1" }, port: "http", free: { any: [null] } });
  expect(decodeObject(thing, value).value).toBe(value);
});

test("fields that do not exist are dropped and named, fields that are not kept are dropped in silence", () => {
  const { value, unknownFields } = decodeObject(thing, { stranger: 1, gone: 2, list: [{ text: "x" }, { odd: 1 }], optional: { odd: 1 } });
  expect(value).toEqual({ ...empty, list: [{ text: "x", fixed: "tcp" }, { fixed: "tcp" }], optional: { fixed: "tcp" } });
  expect(unknownFields).toEqual(["stranger", "list[1].odd", "optional.odd"]);
});

describe("the server's words for what cannot be read", () => {
  test.each([
    [{ text: 1 }, "json: cannot unmarshal number into Go struct field Thing.text of type string"],
    [{ flag: "yes" }, "json: cannot unmarshal string into Go struct field Thing.flag of type bool"],
    [{ fallback: 1.5 }, "json: cannot unmarshal number 1.5 into Go struct field Thing.fallback of type int32"],
    [{ fallback: 3e9 }, "json: cannot unmarshal number 3000000000 into Go struct field Thing.fallback of type int32"],
    [{ texts: "x" }, "json: cannot unmarshal string into Go struct field Thing.texts of type []string"],
    [{ list: [{ text: [] }] }, "json: cannot unmarshal array into Go struct field Below.list.text of type string"],
    [{ optional: true }, "json: cannot unmarshal bool into Go struct field Thing.optional of type v1.Below"],
    [{ map: { cpu: {} } }, "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    [{ bytes: "!" }, "illegal base64 data at input byte 0"],
  ])("%o", (value, message) => {
    expect(() => decode(value)).toThrow(new UnreadableError(message));
  });

  test.each(["now", "2020-01-01", "2020-02-30T00:00:00Z", "2020-01-01t00:00:00z"])("%o is no time", (time) => {
    expect(() => decode({ time })).toThrow(UnreadableError);
  });

  test.each(["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.1Z", "2020-01-01T00:00:00.1234567Z"])(
    "%o has not six digits after the point",
    (micro) => {
      expect(() => decode({ micro })).toThrow(UnreadableError);
    },
  );
});

test("a field of a type that no table has is an error of the tables", () => {
  expect(() => shapesOf({ Thing: { below: "Below" } })("Thing")).toThrow("no table says what the fields of Below are");
});
