import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { aMap, InformerBench } from "../../../test/world/informer-bench.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

/** What the world and the server do to an informer. Each is a name, so that a failing sequence can be read. */
const faults = {
  end: ({ server }: InformerBench) => server.endWatches(),
  break: ({ server }: InformerBench) => server.breakWatches(new ApiError("Unreachable", "connection reset")),
  starve: ({ server }: InformerBench) => server.starveWatches(),
  forget: ({ server }: InformerBench) => server.compact(),
  hold: ({ server }: InformerBench) => server.hold(),
  release: ({ server }: InformerBench) => server.release(),
  repeat: ({ server }: InformerBench) => server.repeat(5),
  bookmark: ({ server }: InformerBench) => server.bookmark(),
  "refuse list": ({ server }: InformerBench) => server.failNext("list", new ApiError("TooManyRequests", "busy", { retryAfterMs: 1_000 })),
  "refuse watch": ({ server }: InformerBench) => server.failNext("watch", new ApiError("InternalError", "etcd")),
  "let run": () => settle(),
  "a second": ({ clock }: InformerBench) => clock.step(1_000),
  "ten minutes": ({ clock }: InformerBench) => clock.step(600_000),
} satisfies Record<string, (bench: InformerBench) => unknown>;

const name = fc.constantFrom("a", "b", "c", "d");
const action = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...(Object.keys(faults) as (keyof typeof faults)[])).map((fault) => ({ fault })) },
  { weight: 2, arbitrary: fc.record({ put: name, color: fc.constantFrom("red", "blue"), ours: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ remove: name }) },
);

test("I10: whatever happens to its connection, an informer ends with the server's state and true indexes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40, size: "max" }), async (actions) => {
      await using bench = new InformerBench([aMap("a", { color: "red" })], { pace: { pageSize: 2 } });
      const { server, informer, clock } = bench;
      for (const act of actions) {
        if ("fault" in act) await faults[act.fault](bench);
        else if ("put" in act) {
          const written = server.put(ConfigMaps, aMap(act.put, { color: act.color }));
          if (act.ours) informer.remember(written);
        } else if (informer.get({ namespace: "ns", name: act.remove }) !== undefined) {
          await server.delete(ConfigMaps, { namespace: "ns", name: act.remove }).catch(() => {});
        }
      }
      server.release();
      // Longer than any pause and any silence that the sequence has left behind.
      await clock.step(1_000_000);
      expect(bench.cached()).toEqual(bench.served());
      expect(bench.lines.filter((line) => line.msg === "change handler failed")).toEqual([]);
    }),
    { numRuns: 150 },
  );
}, 60_000);
