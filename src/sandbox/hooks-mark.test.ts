import fc from "fast-check";
import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { areHooksPending, formatHooksMark, type HooksMark, hooksMarkOf } from "./hooks-mark.ts";

const marked = (text?: string): Pod => ({
  metadata: { name: "p", annotations: text === undefined ? {} : { [annotationKeys.postStartHooks]: text } },
  spec: { containers: [] },
});

test("a mark is read as it was written", () => {
  const marks = fc.record(
    { pending: fc.integer({ min: 1, max: 16 }), sealed: fc.string(), takenAt: fc.string() },
    { requiredKeys: ["pending"] },
  );
  fc.assert(
    fc.property(marks, (mark: HooksMark) => {
      expect(hooksMarkOf(marked(formatHooksMark(mark)))).toEqual(mark);
    }),
  );
});

test("a pod without the annotation has no hooks pending; one with any text has", () => {
  expect([areHooksPending(marked()), hooksMarkOf(marked())]).toEqual([false, undefined]);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const mark = hooksMarkOf(marked(text));
      expect([areHooksPending(marked(text)), typeof mark?.pending]).toEqual([true, "number"]);
    }),
  );
});
