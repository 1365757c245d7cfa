import { expect, test } from "vitest";
import type { ApiObject } from "#model/meta.ts";
import { formatKey, type Key, parseKey } from "./key.ts";
import { changesOf, type ChangesOptions } from "./source.ts";

type Handler = (now: ApiObject | undefined, before: ApiObject | undefined) => void;

/** The keys that one change makes. */
function woken(change: readonly [ApiObject | undefined, ApiObject | undefined], options?: ChangesOptions<ApiObject>): string[] {
  let handler: Handler | undefined;
  const added: Key[] = [];
  const informer = {
    onChange: (given: Handler) => {
      handler = given;
      return { whenSynced: () => Promise.resolve(), remove: () => {} };
    },
  };
  changesOf(informer, options).connect((key) => added.push(key));
  handler?.(...change);
  return [...new Set(added.map(formatKey))];
}

const pod = (pool: string, name = "p1"): ApiObject => ({ metadata: { namespace: "team", name, labels: { pool } } });
const poolOf = ({ metadata }: ApiObject): Key[] => [{ namespace: metadata.namespace, name: metadata.labels?.["pool"] ?? "" }];
const comesOrGoes = (now: unknown, before: unknown): boolean => now === undefined || before === undefined;

test("a new, changed or vanished object wakes its own key", () => {
  expect(woken([pod("a"), undefined])).toEqual(["team/p1"]);
  expect(woken([pod("a"), pod("a")])).toEqual(["team/p1"]);
  expect(woken([undefined, pod("a")])).toEqual(["team/p1"]);
  expect(woken([{ metadata: { name: "cluster-scoped" } }, undefined])).toEqual(["cluster-scoped"]);
});

test("a pod that moves from one pool to another wakes both", () => {
  expect(woken([pod("new"), pod("old")], { keys: poolOf })).toEqual(["team/new", "team/old"]);
  expect(woken([pod("same"), pod("same")], { keys: poolOf })).toEqual(["team/same"]);
});

test("changes that do not matter wake nobody", () => {
  expect(woken([pod("a"), pod("a")], { when: comesOrGoes })).toEqual([]);
  expect(woken([undefined, pod("a")], { when: comesOrGoes })).toEqual(["team/p1"]);
});

test("a key has one text form and comes back from it", () => {
  for (const key of [{ name: "cluster-scoped" }, { namespace: "team", name: "py" }]) expect(parseKey(formatKey(key))).toEqual(key);
  expect(formatKey({ namespace: "team", name: "py" })).toBe("team/py");
});
