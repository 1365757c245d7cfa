import fc from "fast-check";
import { expect, test } from "vitest";
import { LinkedList, type Place } from "./linked-list.ts";

const step = fc.oneof(
  fc.record({ kind: fc.constantFrom("first" as const, "last" as const), value: fc.integer() }),
  fc.record({ kind: fc.constant("remove" as const), value: fc.nat() }),
);

test("a linked list is what an array with the same steps is", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = new LinkedList<{ readonly value: number }>();
      const model: { readonly entry: { readonly value: number }; readonly place: Place }[] = [];
      const gone: Place[] = [];
      for (const { kind, value } of steps) {
        if (kind === "remove") {
          const [taken] = model.splice(value % Math.max(1, model.length), 1);
          taken?.place.remove();
          if (taken !== undefined) gone.push(taken.place);
        } else {
          const entry = { value };
          const place = kind === "first" ? list.addFirst(entry) : list.addLast(entry);
          if (kind === "first") model.unshift({ entry, place });
          else model.push({ entry, place });
        }
        for (const place of gone) place.remove();
        expect([...list]).toEqual(model.map(({ entry: there }) => there));
        expect([list.size, list.first, list.last]).toEqual([model.length, model.at(0)?.entry, model.at(-1)?.entry]);
      }
    }),
  );
});
