import { expect, test } from "vitest";
import { summedPressure } from "#controllers/pool/size/summed-pressure.ts";
import type { Member, Members } from "#kube/members/members.ts";
import { formatDemand } from "#model/claim-demand.ts";
import type { Pod } from "#model/pod.ts";
import { scalingScene } from "../../../test/world/scaling-scene.ts";

const demand = { scaleUpPolicy: { mode: "Demand" as const } };

/** API processes as the controllers know them: by what each tells on its lease. */
class ToldMembers implements Pick<Members, "live" | "onTold"> {
  readonly #told = new Map<string, string | undefined>();
  readonly #handlers = new Set<(told: string | undefined) => void>();

  /** So many requests wait in this process for a pod of any of these pools. */
  waits(process: string, ...sets: readonly (readonly [count: number, ...pools: readonly string[]])[]): void {
    const told = formatDemand(sets.map(([count, ...pools]) => ({ count, pools: pools.map((name) => `ns/${name}`) })));
    this.#told.set(process, told);
    for (const handler of this.#handlers) handler(told);
  }

  *live(): Generator<Member> {
    for (const [name, told] of this.#told) yield { name, told };
  }

  onTold(handler: (told: string | undefined) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}

const ofPool = (pods: readonly Pod[], name: string): number =>
  pods.filter(({ metadata }) => metadata.name?.startsWith(`${name}-`) === true).length;

test("W20: what waits in several API processes is summed by the autoscaler, and each waiting request has one pod", async () => {
  const members = new ToldMembers();
  await using scaling = await scalingScene({ pressure: summedPressure({ members }) });
  const { world } = scaling;
  await scaling.createEnv(
    [
      { name: "a", replicas: 0, config: { maxReplicas: 4 } },
      { name: "b", replicas: 0 },
    ],
    demand,
  );
  members.waits("api-0", [3, "a", "b"]);
  await world.filled();
  expect(await world.scene.pods()).toHaveLength(3);
  // The same set as in the other process, and one of its own.
  members.waits("api-1", [4, "a", "b"], [2, "b"]);
  await world.filled();
  const pods = await world.scene.pods();
  expect(pods).toHaveLength(9);
  expect(ofPool(pods, "a")).toBeLessThanOrEqual(4);
  await world.clock.step(1_000);
  const { a = 0, b = 0 } = await scaling.replicas();
  expect(a + b).toBeGreaterThanOrEqual(9);
  expect((await world.scene.pool("a")).status?.autoscaling?.decision).toContain("9 waiting");
});

test("W20: a process in which nothing waits any more counts no more, and the others do", async () => {
  const members = new ToldMembers();
  await using scaling = await scalingScene({ pressure: summedPressure({ members }) });
  const { world } = scaling;
  await scaling.createEnv([{ name: "a", replicas: 0 }], demand);
  members.waits("api-0", [5, "a"]);
  members.waits("api-0");
  members.waits("api-1", [2, "a"]);
  await world.filled();
  await world.clock.step(1_000);
  expect((await world.scene.pool("a")).status?.autoscaling?.decision).toContain("2 waiting");
});
