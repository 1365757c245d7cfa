import { expect, test } from "vitest";
import { networkFailure } from "./network-failure.ts";

const withCode = (code: string): Error => Object.assign(new Error(`other side closed ${code}`), { code });

test.each([
  [new TypeError("fetch failed", { cause: withCode("ECONNREFUSED") }), "connection refused: no server listens there"],
  [new TypeError("fetch failed", { cause: withCode("UND_ERR_SOCKET") }), "the server closed the connection before it answered"],
  [new AggregateError([withCode("ECONNREFUSED"), withCode("ENETUNREACH")]), "connection refused: no server listens there"],
  [withCode("ENOTFOUND"), "the host name does not exist"],
  [withCode("E_SOMETHING_NEW"), "the request failed"],
  ["thrown", "the request failed"],
])("%s", (error, text) => {
  expect(networkFailure(error)).toBe(text);
});
