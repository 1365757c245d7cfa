import { expect, test } from "vitest";
import { requestHeaders } from "./headers.ts";

const forwarded = { client: "192.0.2.1", proto: "http", host: "box.example" } as const;

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
