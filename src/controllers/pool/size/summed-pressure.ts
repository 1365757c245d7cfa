/** How hard pods are wanted by all API processes together: each says on its lease how many creates wait there. */
import { type Key, parseKey } from "#kube/controller/key.ts";
import type { Members } from "#kube/members/members.ts";
import { parseDemand, type WaitingSet } from "#model/claim-demand.ts";
import { poolKey } from "#scheduling/pool-ref.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";

export interface SummedPressureDeps {
  readonly members: Pick<Members, "live" | "onTold">;
  /** Of the API in this process, if there is one: known without delay, and not counted twice. */
  readonly own?: { readonly member: string; readonly pressure: ClaimPressure } | undefined;
}

export function summedPressure({ members, own }: SummedPressureDeps): ClaimPressure {
  const elsewhere = (pool: Key): readonly WaitingSet[] => {
    const key = keyOf(pool);
    const others = Iterator.from(members.live()).filter(({ name }) => name !== own?.member);
    return others.flatMap(({ told }) => parseDemand(told).filter(({ pools }) => pools.includes(key))).toArray();
  };
  return {
    // Single claims are over before another process could be told of them: refill yields to those of its own process.
    inFlight: (pool) => own?.pressure.inFlight(pool) ?? 0,
    waiting: (pool) => elsewhere(pool).reduce((sum, { count }) => sum + count, own?.pressure.waiting(pool) ?? 0),
    setsAt: (pool) => joined([...(own?.pressure.setsAt(pool) ?? []), ...elsewhere(pool)]),
    onWaiting: (handler) => {
      const stops = [
        own?.pressure.onWaiting(handler),
        members.onTold((told) => {
          for (const key of new Set(parseDemand(told).flatMap(({ pools }) => pools))) handler(parseKey(key));
        }),
      ];
      return () => {
        for (const stop of stops) stop?.();
      };
    },
  };
}

/** Equal sets of several processes are one. */
function joined(sets: readonly WaitingSet[]): readonly WaitingSet[] {
  const counts = new Map<string, WaitingSet>();
  for (const { pools, count } of sets) {
    const key = pools.join(",");
    counts.set(key, { pools, count: count + (counts.get(key)?.count ?? 0) });
  }
  return [...counts.values()];
}

function keyOf({ namespace = "", name }: Key): string {
  return poolKey({ namespace, name });
}
