import { expect, test } from "vitest";
import { requestHeaders, responseHeaders } from "./headers.ts";

const forwarded = { client: "192.0.2.1", proto: "http", host: "box.example", isForSandbox: true } as const;

test.each([
  ["two lengths", ["Content-Length", "1", "content-length", "2"]],
  ["the same length twice", ["Content-Length", "1", "Content-Length", "1"]],
  ["two hosts", ["Host", "a", "host", "b"]],
])("a request with %s is passed to no sandbox: two readers could understand it in two ways", (_, raw) => {
  expect(requestHeaders(raw, forwarded)).toBeUndefined();
});

test("what is about one connection, or only for the gateway to say, stays behind; all else goes on as it came", () => {
  const raw = [
    "Host",
    "x",
    "X-One",
    "1",
    "Transfer-Encoding",
    "chunked",
    "Connection",
    "X-Mine",
    "X-Mine",
    "2",
    "X-Forwarded-For",
    "10.0.0.1",
  ];
  const went = ["Host", "box.example", "X-One", "1", "x-one", "3"];
  const added = ["X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "http", "X-Forwarded-Host", "box.example"];
  expect(requestHeaders([...raw, "E2b-Sandbox-Id", "i1", "x-one", "3"], forwarded)).toEqual([...went, ...added]);
});

test.each([
  ["agentbox_session=secret", []],
  ["a=1; agentbox_session=secret; b=agentbox_session", ["Cookie", "a=1; b=agentbox_session"]],
  ["__Host-agentbox_session=secret;a=1", ["Cookie", "a=1"]],
  ["a=1; =agentbox_session=secret", ["Cookie", "a=1"]],
  ["agentbox_sign_in=secret; __Host-agentbox_sign_in=secret; a=1", ["Cookie", "a=1"]],
  ["a=1;b=2", ["Cookie", "a=1;b=2"]],
])("of the cookies %s a sandbox is sent no session of the console", (cookie, left) => {
  const sent = requestHeaders(["Cookie", cookie], forwarded);
  expect(sent?.slice(2, -6)).toEqual(left);
  expect(requestHeaders(["Cookie", cookie], { ...forwarded, isForSandbox: false })).toContain(cookie);
});

test.each([
  "agentbox_session=x; Path=/",
  "__Host-agentbox_session=x; Secure",
  " agentbox_session =x",
  "=agentbox_session=x",
  "agentbox_sign_in=x",
])("a sandbox cannot sign browsers in to the console with the cookie %j", (cookie) => {
  const raw = ["Set-Cookie", cookie, "set-cookie", "a=agentbox_session=1"];
  expect(responseHeaders(raw, { isOfSandbox: true })).toEqual(raw.slice(2));
  expect(responseHeaders(raw, { isOfSandbox: false })).toEqual(raw);
});
