import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import { type LimitTable, noLimitsSet } from "#model/limits.ts";
import type { SandboxPool, SandboxPoolStatus } from "#model/sandbox-pool.ts";
import { usableAmounts } from "./pod-amounts.ts";
import { quotaPlugin } from "./quota.ts";

const { signal } = new AbortController();
const template = { spec: { containers: [{ name: "main", resources: { limits: { cpu: "500m", memory: "256Mi" } } }] } };

interface Shape {
  readonly user?: string;
  readonly team?: string;
  readonly status?: SandboxPoolStatus;
}

function aPool(name: string, replicas: number, { team = "red", user = "", status }: Shape = {}): SandboxPool {
  const labels = { ...(team !== "" && { [labelKeys.team]: team }), ...(user !== "" && { [labelKeys.user]: user }) };
  return { metadata: { namespace: "default", name, labels }, spec: { replicas, template }, ...(status !== undefined && { status }) };
}

function growing(table: Partial<LimitTable>, pools: readonly SandboxPool[], pool: SandboxPool) {
  const plugin = quotaPlugin({
    table: () => ({ ...noLimitsSet, ...table }),
    poolsOfTeam: (team) => pools.filter(({ metadata }) => metadata.labels?.[labelKeys.team] === team),
    amountsOf: ({ spec }) => usableAmounts(spec.template?.spec),
  });
  return plugin.preUpdatePool?.(pool, signal);
}

const red = (values: Record<string, number>): Partial<LimitTable> => ({ teams: { red: values } });

test.each<[string, Partial<LimitTable>, number]>([
  ["pods", red({ pods: 10 }), 6],
  ["podsPerPool", red({ podsPerPool: 5 }), 5],
  ["cpu", red({ cpu: 5 }), 6],
  ["memoryMiB", red({ memoryMiB: 1280 }), 1],
  ["idlePods", red({ idlePods: 9 }), 5],
])("a team's limit %s is where its pools stop to grow", async (name, table, most) => {
  const pools = [aPool("other", 4), aPool("py", 0)];
  expect(await growing(table, pools, aPool("py", most))).toMatchObject({ object: {} });
  const refused = await growing(table, pools, aPool("py", most + 1));
  expect(refused).toMatchObject({ refusal: { kind: "InsufficientResources", wouldFit: most } });
  expect(refused).toMatchObject({ refusal: { message: expect.stringContaining(`agentbox limits set --team red ${name}=N`) as string } });
});

test("pods with a sandbox are no idle stock", async () => {
  const busy = { runningReplicas: 3, startingReplicas: 1 };
  const pools = [aPool("other", 6, { status: busy }), aPool("py", 4, { status: busy })];
  expect(await growing(red({ idlePods: 5 }), pools, aPool("py", 7, { status: busy }))).toMatchObject({ object: {} });
  expect(await growing(red({ idlePods: 5 }), pools, aPool("py", 8, { status: busy }))).toMatchObject({ refusal: { wouldFit: 7 } });
});

test("a user's limit counts the pools of this user, within those of the team", async () => {
  const table: Partial<LimitTable> = { users: { red: { ann: { cpu: 2 }, "*": { cpu: 1 } } } };
  const pools = [aPool("hers", 3, { user: "ann" }), aPool("his", 3, { user: "bob" })];
  expect(await growing(table, pools, aPool("new", 1, { user: "ann" }))).toMatchObject({ object: {} });
  expect(await growing(table, pools, aPool("new", 2, { user: "ann" }))).toMatchObject({
    refusal: { wouldFit: 1, message: expect.stringContaining("user ann of team red has the limit cpu=2") as string },
  });
  expect(await growing(table, pools, aPool("new", 3, { user: "eve" }))).toMatchObject({ refusal: { wouldFit: 2 } });
  expect(await growing(table, pools, aPool("new", 100))).toMatchObject({ object: {} });
});

test("a pool of no team has the server's limit alone", async () => {
  expect(await growing({ server: { podsPerPool: 7 } }, [], aPool("shared", 7, { team: "" }))).toMatchObject({ object: {} });
  expect(await growing({ server: { podsPerPool: 7 } }, [], aPool("shared", 8, { team: "" }))).toMatchObject({ refusal: { wouldFit: 7 } });
});

test("nothing is taken away when a limit is lowered", async () => {
  const pools = [aPool("py", 20)];
  expect(await growing(red({ pods: 5 }), pools, aPool("py", 20))).toMatchObject({ object: {} });
  expect(await growing(red({ pods: 5 }), pools, aPool("py", 21))).toMatchObject({ refusal: { wouldFit: 20 } });
});
