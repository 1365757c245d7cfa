import { expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { fencedClient } from "./fenced-client.ts";
import type { ObjectClient } from "./object-client.ts";

test("from the end of its signal on nothing is written, and everything can be read", async () => {
  const called: string[] = [];
  const call = (name: string) => async () => void called.push(name);
  const names = ["get", "list", "create", "update", "patch", "delete", "getScale", "updateScale", "patchScale"] as const;
  const over = new AbortController();
  // All of a client but its watch, which is not fenced; made by name, so the types cannot follow.
  const client = fencedClient(Object.fromEntries(names.map((name) => [name, call(name)])) as unknown as ObjectClient, over.signal);
  const all = (): Promise<unknown> =>
    Promise.allSettled(names.map((name) => (client[name] as (type: unknown) => Promise<unknown>)(ConfigMaps)));
  await all();
  expect(called).toEqual(names);
  called.length = 0;
  over.abort(new Error("it leads no more"));
  await all();
  expect(called).toEqual(["get", "list", "getScale"]);
  await expect(client.delete(ConfigMaps, { name: "x" })).rejects.toThrow("it leads no more");
});
