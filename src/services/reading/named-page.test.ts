import fc from "fast-check";
import { expect, test } from "vitest";
import { pageOf } from "./named-page.ts";
import { isServiceError } from "#services/service-error.ts";

const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,6}$/);
const object = fc.record({ metadata: fc.record({ namespace: fc.constantFrom("a", "b", "a-b"), name }) });
const objects = fc.uniqueArray(object, { maxLength: 20, selector: ({ metadata }) => `${metadata.namespace}/${metadata.name}` });
type Named = readonly { readonly metadata: { readonly namespace: string; readonly name: string } }[];
const placesOf = (list: Named) => list.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

test("pages of any size are together everything, once, in order", () => {
  fc.assert(
    fc.property(objects, fc.integer({ min: 1, max: 7 }), (all, limit) => {
      const found: Named[number][] = [];
      let cursor: string | undefined;
      do {
        const page = pageOf(all, { limit, ...(cursor !== undefined && { cursor }) });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        found.push(...page.items);
        cursor = page.next;
      } while (cursor !== undefined);
      expect(placesOf(found)).toEqual(placesOf(all).sort());
    }),
  );
});

test("what comes and goes between two pages shifts nothing else", () => {
  fc.assert(
    fc.property(objects, objects, (before, after) => {
      const first = pageOf(before, { limit: 3 });
      fc.pre(first.next !== undefined);
      const rest = pageOf(after, { cursor: first.next ?? "" });
      const last = placesOf(first.items).at(-1) ?? "";
      expect(placesOf(rest.items)).toEqual(
        placesOf(after)
          .filter((place) => place > last)
          .sort(),
      );
    }),
  );
});

test("a cursor that no list gave out is refused, whatever it is", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (cursor) => {
      let failure: unknown;
      try {
        pageOf([], { cursor });
      } catch (error) {
        failure = error;
      }
      expect(isServiceError(failure, "invalid_request") && failure.details.field).toBe("cursor");
    }),
  );
});
