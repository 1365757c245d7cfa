import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { ArmedState } from "#envd/armed-state.ts";
import type { InitBody } from "#envd-protocol/arming.ts";
import { hasAnyToken, hasToken } from "./access-token.ts";

function armed(init: InitBody): ArmedState {
  const state = new ArmedState();
  state.arm("s1", init);
  return state;
}

const request = (headers: Readonly<Record<string, string | string[]>>) => ({ headers }) as unknown as IncomingMessage;
const secured = armed({ accessToken: "access-1", trafficToken: "traffic-1" });

describe("a secured sandbox", () => {
  test("accepts a request with the access token", () => {
    expect(hasToken(secured, request({ "x-access-token": "access-1" }))).toBe(true);
  });

  test.each([
    [{}],
    [{ "x-access-token": "" }],
    [{ "x-access-token": "access-2" }],
    [{ "x-access-token": "access-11" }],
    [{ "x-access-token": "traffic-1" }],
    [{ "x-access-token": ["access-1", "access-1"] }],
    [{ "e2b-traffic-access-token": "traffic-1" }],
    [{ authorization: "Bearer access-1" }],
  ])("does not let in %j", (headers) => {
    expect(hasToken(secured, request(headers))).toBe(false);
  });

  test.each([
    [{ "x-access-token": "access-1" }, true],
    [{ "e2b-traffic-access-token": "traffic-1" }, true],
    [{ "e2b-traffic-access-token": "traffic-2" }, false],
    [{ "e2b-traffic-access-token": "access-1" }, false],
    [{ "e2b-traffic-access-token": "" }, false],
    [{}, false],
  ])("where the token of its ports is as good, %j is let in: %s", (headers, isLetIn) => {
    expect(hasAnyToken(secured, request(headers))).toBe(isLetIn);
  });
});

test("a sandbox that got no token of its ports takes none, not even an empty one", () => {
  const state = armed({ accessToken: "access-1" });
  for (const given of ["", "undefined"]) expect(hasAnyToken(state, request({ "e2b-traffic-access-token": given }))).toBe(false);
});

test.each([[{}], [{ accessToken: "" }]])("a sandbox that was made without a token (%j) lets in everybody", (init) => {
  expect(hasToken(armed(init), request({}))).toBe(true);
  expect(hasAnyToken(armed(init), request({}))).toBe(true);
});
