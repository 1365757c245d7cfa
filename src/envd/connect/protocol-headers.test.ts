import { describe, expect, test } from "vitest";
import { checkVersion, keepaliveSeconds, timeoutOf, wireFormat } from "./protocol-headers.ts";

describe("a content type", () => {
  test.each([
    ["application/json", { isStream: false, codec: "json" }],
    ["application/proto", { isStream: false, codec: "proto" }],
    ["application/connect+json", { isStream: true, codec: "json" }],
    ["Application/Connect+Proto", { isStream: true, codec: "proto" }],
    ['application/json; charset="UTF-8"', { isStream: false, codec: "json" }],
    ["application/json;charset=utf8", { isStream: false, codec: "json" }],
  ])("%s says how messages are written", (type, format) => {
    expect(wireFormat(type)).toEqual(format);
  });

  test.each([undefined, "", "text/plain", "application/json; charset=latin1", "application/grpc"])("%s is not served", (type) => {
    expect(wireFormat(type)).toBeUndefined();
  });
});

describe("a caller's time limit", () => {
  test("is in milliseconds, and there is none without the header", () => {
    expect(timeoutOf({ "connect-timeout-ms": "1500" })).toBe(1500);
    expect(timeoutOf({ "connect-timeout-ms": "0" })).toBe(0);
    expect([timeoutOf({}), timeoutOf({ "connect-timeout-ms": "" })]).toEqual([undefined, undefined]);
  });

  test.each(["-1", "1.5", "1e3", "12345678901", "soon"])("of %s is refused", (value) => {
    expect(() => timeoutOf({ "connect-timeout-ms": value })).toThrow("connect-timeout-ms must be a number");
  });
});

test("another version of the protocol is refused, and none is taken for ours", () => {
  expect(() => checkVersion({ "connect-protocol-version": "2" })).toThrow("connect-protocol-version");
  expect(checkVersion({ "connect-protocol-version": "1" })).toBeUndefined();
  expect(checkVersion({})).toBeUndefined();
});

test.each([
  ["30", 30],
  ["0", 90],
  ["3601", 90],
  ["1.5", 90],
  [undefined, 90],
])("keep-alive messages for an interval of %s come every %i s", (value, seconds) => {
  expect(keepaliveSeconds(value === undefined ? {} : { "keepalive-ping-interval": value })).toBe(seconds);
});
