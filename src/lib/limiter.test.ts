import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Limiter } from "./limiter.ts";

test("no more than the limit run at once, all run, in the order in which they came", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.array(fc.boolean(), { maxLength: 20 }), async (limit, failing) => {
      const limiter = new Limiter(limit);
      const started: number[] = [];
      let running = 0;
      let most = 0;
      const works = failing.map((fails, index) =>
        limiter.run(async () => {
          started.push(index);
          most = Math.max(most, ++running);
          await Promise.resolve();
          running--;
          if (fails) throw new Error("failed");
        }),
      );
      const outcomes = await Promise.allSettled(works);
      expect(outcomes.map(({ status }) => status === "rejected")).toEqual(failing);
      expect(started).toEqual(failing.map((_, index) => index));
      expect(most).toBeLessThanOrEqual(limit);
    }),
  );
});

test("one that comes while another is being woken does not slip in", async () => {
  const limiter = new Limiter(1);
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
  };
  const first = limiter.run(work);
  const second = limiter.run(work);
  await first;
  await Promise.all([second, limiter.run(work)]);
  expect(most).toBe(1);
});

test("what the work returns is returned", async () => {
  await expect(new Limiter(1).run(() => Promise.resolve(7))).resolves.toBe(7);
});
