import { expect, test } from "vitest";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { recentDigests } from "./recent-digests.ts";

const { signal } = new AbortController();

function bench(answer: (asked: number) => Promise<{ readonly digest: string }>) {
  const clock = new SteppedClock();
  const state = { asked: 0 };
  const digests = recentDigests({ resolve: () => answer((state.asked += 1)) }, clock);
  return { clock, state, digests, resolve: (image = "app:1", by = signal) => digests.resolve(image, { signal: by }) };
}

test("many who ask within a second cost one look, and the next second sees what is new", async () => {
  const { clock, state, resolve } = bench(async (asked) => ({ digest: `d${asked}` }));
  expect(await Promise.all([resolve(), resolve(), resolve("other:1")])).toEqual([{ digest: "d1" }, { digest: "d1" }, { digest: "d2" }]);
  await clock.step(999);
  expect(await resolve()).toEqual({ digest: "d1" });
  await clock.step(1);
  expect(await resolve()).toEqual({ digest: "d3" });
  expect(state.asked).toBe(3);
});

test("what must be proven is not answered from what need not be", async () => {
  const { digests } = bench(async (asked) => ({ digest: `d${asked}` }));
  const ask = (choice?: "access" | "public"): Promise<object> =>
    digests.resolve("app:1", { signal, puller: { namespace: "ns", ...(choice === undefined ? {} : { choice }) } });
  expect(await Promise.all([ask(), ask("access"), ask("public")])).toEqual([{ digest: "d1" }, { digest: "d2" }, { digest: "d3" }]);
});

test("a failure is not remembered", async () => {
  const { resolve } = bench(async (asked) => {
    if (asked === 1) throw new Error("the registry does not answer");
    return { digest: "d" };
  });
  await expect(resolve()).rejects.toThrow("does not answer");
  expect(await resolve()).toEqual({ digest: "d" });
});

test("who goes away leaves the answer to the others", async () => {
  const go = Promise.withResolvers<{ readonly digest: string }>();
  const { resolve } = bench(() => go.promise);
  const leaving = new AbortController();
  const [first, second] = [resolve("app:1", leaving.signal), resolve()];
  leaving.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  go.resolve({ digest: "d" });
  expect(await second).toEqual({ digest: "d" });
});

test("what one puller was told is not told to another", async () => {
  const { state, digests } = bench(async (asked) => ({ digest: `d${asked}` }));
  const pullers = [undefined, { namespace: "a" }, { namespace: "b" }, { namespace: "b", imagePullSecrets: [{ name: "s" }] }];
  const ask = () => Promise.all(pullers.map((puller) => digests.resolve("app:1", { signal, puller })));
  expect(await ask()).toEqual(await ask());
  expect(state.asked).toBe(4);
});
