import fc from "fast-check";
import { expect, test } from "vitest";
import { SortedEntries } from "./sorted-entries.ts";

const key = fc.tuple(fc.constantFrom("a", "a-b", "b", "c"), fc.nat(40)).map(([namespace, name]) => `${namespace}/${name}`);

test("entries come in the order of their keys, whatever was inserted and removed", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ key, remove: fc.boolean() }), { maxLength: 200 }), key, (steps, from) => {
      const sorted = new SortedEntries<{ key: string }>();
      const model = new Set<string>();
      for (const step of steps) {
        if (step.remove) sorted.remove(step.key);
        else if (!model.has(step.key)) sorted.insert({ key: step.key });
        if (step.remove) model.delete(step.key);
        else model.add(step.key);
      }
      const wanted = [...model].sort();
      expect(sorted.size).toBe(wanted.length);
      expect(Array.from(sorted.backwards(), (entry) => entry.key)).toEqual(wanted.toReversed());
      expect(Array.from(sorted.backwards(from), (entry) => entry.key)).toEqual(wanted.filter((one) => one < from).toReversed());
      for (const prefix of ["", "a/", "a-b/", "b/", "d/"]) {
        const inPrefix = wanted.filter((one) => one.startsWith(prefix));
        expect(Array.from(sorted.range(prefix), (entry) => entry.key)).toEqual(inPrefix);
        expect(sorted.count(prefix)).toBe(inPrefix.length);
        const later = inPrefix.filter((one) => one >= from);
        if (!from.startsWith(prefix)) continue;
        expect(Array.from(sorted.range(prefix, from), (entry) => entry.key)).toEqual(later);
        expect(sorted.count(prefix, from)).toBe(later.length);
      }
    }),
  );
});

test("thousands of entries in any order stay sorted and can all be taken out again", () => {
  const sorted = new SortedEntries<{ key: string }>();
  const keys = Array.from({ length: 5000 }, (_, i) => String((i * 7919) % 5000).padStart(5, "0"));
  for (const one of keys) sorted.insert({ key: one });
  expect(Array.from(sorted.range(""), (entry) => entry.key)).toEqual(keys.toSorted());
  expect(Array.from(sorted.backwards("03000"), (entry) => entry.key)).toEqual(keys.toSorted().slice(0, 3000).toReversed());
  expect(sorted.count("", "02500")).toBe(2500);
  for (const one of keys) sorted.remove(one);
  expect(sorted.size).toBe(0);
  expect([...sorted.range("")]).toEqual([]);
});
