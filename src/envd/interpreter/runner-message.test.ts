import { expect, test } from "vitest";
import { eventOf, parseMessage, resultEvent } from "./runner-message.ts";

test("results have the names that clients know, and others beside them", () => {
  expect(
    resultEvent({ "text/plain": "x", "image/png": "AAAA", "e2b/data": { a: [1] }, "application/x-own": 5, "text/html": null }, true),
  ).toEqual({
    type: "result",
    text: "x",
    png: "AAAA",
    data: { a: [1] },
    extra: { "application/x-own": 5 },
    is_main_result: true,
  });
});

test.each([
  ["'it'", "it"],
  ['"it\'s"', "it's"],
  ["'", "'"],
  ["'a\"", "'a\""],
  ["[1, 2]", "[1, 2]"],
])("the text %s is shown as %s", (given, shown) => {
  expect(resultEvent({ "text/plain": given }, false)).toMatchObject({ text: shown });
});

test("a shell command that failed is an error, one that succeeded is nothing to tell", () => {
  expect(eventOf({ type: "end", status: 2 })).toMatchObject({ type: "error", name: "CommandFailed", value: "exit status 2" });
  expect(eventOf({ type: "end", status: 0 })).toBeUndefined();
  expect(eventOf({ type: "end" })).toBeUndefined();
});

test.each(["", "{", "null", "5", '{"type":"else"}', '{"type":"result"}'])("%j is no message of a runner", (text) => {
  expect(parseMessage(text)).toBeUndefined();
});

test.each(["1.0", "-0.0", "1e3", "12345678901234567890"])("the number %s reaches the client as it was written", (number) => {
  const message = parseMessage(`{"type":"result","bundle":{"application/json":{"a":[${number},2]}},"main":true}`);
  expect(message?.type === "result" && JSON.stringify(resultEvent(message.bundle, true))).toBe(
    `{"type":"result","json":{"a":[${number},2]},"is_main_result":true}`,
  );
});
