import { expect, test } from "vitest";
import { rememberedShells, rememberShells } from "./open-shells.ts";

test("terminals are remembered by sandbox, and what is no list of process ids is nothing", () => {
  const stored = new Map<string, string>();
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  };
  rememberShells("s1", [4, 7], storage);
  expect(rememberedShells("s1", storage)).toEqual([4, 7]);
  expect(rememberedShells("s2", storage)).toEqual([]);
  for (const text of ["{", "7", '["7", -1, 1.5, 8]']) {
    stored.set("agentbox.terminals.s1", text);
    expect(rememberedShells("s1", storage)).toEqual(text.startsWith("[") ? [8] : []);
  }
});
