import { afterEach, expect, test, vi } from "vitest";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import type { Caller } from "#services/caller.ts";
import { countUse } from "#services/limits/count-use.ts";
import { LimitGuard } from "#services/limits/limit-guard.ts";
import { type LimitService, limitService } from "#services/limits/limit-service.ts";
import { type PoolService, poolService } from "#services/pools/pool-service.ts";
import { type ContractServer, describeServers } from "./servers.ts";
import { claimBook } from "../world/claim-books.ts";

const admin: Caller = { role: "admin", team: "", keyId: "none" };
const log = openLog({ clock: systemClock, out: { write: () => true } });
const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };

interface Process {
  readonly limits: LimitService;
  readonly pools: PoolService;
  readonly guard: LimitGuard;
}

describeServers("limits", (server) => {
  const caches: SandboxCache[] = [];
  afterEach(() => Promise.all(caches.splice(0).map((cache) => cache.stop())));

  async function process({ client }: ContractServer, namespace: string): Promise<Process> {
    const cache = new SandboxCache({ client, clock: systemClock, log }, { namespace, systemNamespace: namespace, claims: claimBook() });
    caches.push(cache);
    await cache.run();
    if (cache.limits === undefined) throw new Error("no limits");
    const guard = new LimitGuard({ cache, use: countUse(cache) });
    const limits = limitService({ client, guard, limits: cache.limits, table: () => cache.limitTable(), namespace });
    return { limits, guard, pools: poolService({ client, cache, namespace, limits: guard }) };
  }

  const create = ({ pools }: Process, name: string, replicas: number) =>
    pools.create(admin, { metadata: { name, labels: { "scheduling.navix.sh/team": "red" } }, spec: { replicas, template } });

  test("are seen by every process, wherever they were set, and count what all of them have made", async () => {
    const running = server();
    const namespace = await running.namespace();
    const [one, other] = [await process(running, namespace), await process(running, namespace)];
    await one.limits.set(admin, { of: "team", team: "red" }, { pods: 5 });
    await other.limits.set(admin, { of: "team", team: "red" }, { pools: 9 });
    await vi.waitFor(() => expect([one, other].map(({ guard }) => guard.ofTeam("red", "pods"))).toEqual([5, 5]));
    await vi.waitFor(() => expect([one, other].map(({ guard }) => guard.ofTeam("red", "pools"))).toEqual([9, 9]));
    await create(one, "first", 3);
    await vi.waitFor(() => expect(other.guard.used("pods", "red")).toBe(3));
    await expect(create(other, "second", 3)).rejects.toMatchObject({ code: "limit_reached", details: { limit: { used: 3, limit: 5 } } });
    await create(other, "second", 2);
    await expect(other.pools.scale(admin, { name: "second" }, 3)).rejects.toMatchObject({ code: "limit_reached" });
  });
});
