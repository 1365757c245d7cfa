/** How hard pods are wanted by all API processes together: each says on its lease how many creates wait there. */
import { type Key, parseKey } from "#kube/controller/key.ts";
import type { Members } from "#kube/members/members.ts";
import { parseDemand } from "#model/claim-demand.ts";
import { poolKey } from "#scheduling/pool-ref.ts";
import type { ClaimPressure } from "./claim-pressure.ts";

export interface SummedPressureDeps {
  readonly members: Pick<Members, "live" | "onTold">;
  /** Of the API in this process, if there is one: known without delay, and not counted twice. */
  readonly own?: { readonly member: string; readonly pressure: ClaimPressure } | undefined;
}

export function summedPressure({ members, own }: SummedPressureDeps): ClaimPressure {
  const elsewhere = (pool: Key): number => {
    const key = keyOf(pool);
    let waiting = 0;
    for (const { name, told } of members.live()) if (name !== own?.member) waiting += parseDemand(told).get(key) ?? 0;
    return waiting;
  };
  return {
    // Single claims are over before anybody could be told of them: refill yields to those of its own process.
    inFlight: (pool) => own?.pressure.inFlight(pool) ?? 0,
    waiting: (pool) => (own?.pressure.waiting(pool) ?? 0) + elsewhere(pool),
    onWaiting: (handler) => {
      const stops = [
        own?.pressure.onWaiting(handler),
        members.onTold((told) => {
          for (const key of parseDemand(told).keys()) handler(parseKey(key));
        }),
      ];
      return () => {
        for (const stop of stops) stop?.();
      };
    },
  };
}

function keyOf({ namespace = "", name }: Key): string {
  return poolKey({ namespace, name });
}
