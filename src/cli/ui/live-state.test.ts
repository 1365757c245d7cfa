import { expect, test } from "vitest";
import type { Sandbox } from "#client/sandbox-types.ts";
import { firstState, type LiveData, type LiveState, press, type Pressed, shownSandboxes, singlePresses } from "./live-state.ts";

// Only the fields that the view decides by.
const sandbox = (sandboxId: string): Sandbox =>
  ({ sandboxId, poolName: "base", status: "Running", metadata: { team: "red" } }) as unknown as Sandbox;
const data: LiveData = {
  server: "http://127.0.0.1",
  sandboxes: [sandbox("one"), sandbox("two"), sandbox("three")],
  envs: [],
  events: [],
  failure: undefined,
};

/** The end of a series of keys. */
function after(keys: readonly string[], from: LiveState = firstState): Pressed {
  return keys.reduce<Pressed>(({ state }, input) => press(data, state, { input, key: {} }), { state: from });
}

test("keys that arrive together act one after the other", () => {
  expect(singlePresses({ input: "/tw", key: {} }).map(({ input }) => input)).toEqual(["/", "t", "w"]);
  const { state } = after(singlePresses({ input: "/tw", key: {} }).map(({ input }) => input));
  expect(state).toMatchObject({ mode: "filter", filter: "tw" });
  expect(shownSandboxes(data, state).map(({ sandboxId }) => sandboxId)).toEqual(["two"]);
});

test("a key without a character, such as an arrow, stays one press", () => {
  expect(singlePresses({ input: "", key: { downArrow: true } })).toEqual([{ input: "", key: { downArrow: true } }]);
});

test("a filter finds metadata too, Enter keeps it, and Escape removes it", () => {
  const { state } = after(["/", "r", "e", "d"]);
  expect(shownSandboxes(data, state)).toHaveLength(3);
  expect(press(data, state, { input: "", key: { return: true } }).state).toMatchObject({ mode: "list", filter: "red" });
  expect(press(data, state, { input: "", key: { escape: true } }).state).toMatchObject({ mode: "list", filter: "" });
});

test("the selection stays within the list", () => {
  expect(after(["j", "j", "j", "j"]).state.selected).toBe(2);
  expect(after(["k"]).state.selected).toBe(0);
});

test("a sandbox is ended only after y", () => {
  const asked = press(data, after(["j"]).state, { input: "d", key: { ctrl: true } });
  expect(asked).toMatchObject({ state: { mode: "confirm" } });
  expect(asked.effect).toBeUndefined();
  expect(press(data, asked.state, { input: "y", key: {} }).effect).toEqual({ kind: "end", id: "two" });
  const refused = press(data, asked.state, { input: "n", key: {} });
  expect(refused.effect).toBeUndefined();
  expect(refused.state.message).toBe("Nothing was ended");
});
