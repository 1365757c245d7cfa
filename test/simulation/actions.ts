/** What may happen in a step, each thing as likely as its weight. */
import { poolSorts } from "./pools.ts";
import type { SeededRandom } from "./random.ts";
import { calmNode } from "./node.ts";
import type { World } from "./world.ts";
import type { WeatherKind } from "./weather.ts";

const weights = {
  create: 26,
  burst: 3,
  end: 14,
  cancel: 3,
  kill: 5,
  start: 10,
  hold: 2,
  goOn: 4,
  setClock: 2,
  weather: 8,
  nodeMood: 3,
  endContainer: 3,
  evict: 1,
  deletePod: 2,
  nodeDown: 1,
  nodeUp: 3,
  scale: 3,
  rollout: 1,
  timeouts: 3,
  deletePool: 1,
  createPool: 3,
  changeEnv: 2,
  plugin: 3,
  quota: 2,
  foreign: 1,
  wait: 12,
} as const;

type Action = keyof typeof weights;

const doings: Readonly<Record<Action, (world: World, random: SeededRandom) => Promise<void> | void>> = {
  create: (world, random) => create(world, random),
  burst: (world, random) => {
    for (let left = random.between(3, 6); left > 0; left--) create(world, random);
  },
  end: (world, random) => {
    const api = random.pick(world.apis());
    if (api !== undefined) world.clients.end(api);
  },
  cancel: (world) => world.clients.cancel(),
  kill: (world, random) => world.kill(random.pick(world.slots) ?? ""),
  start: (world, random) => world.start(random.pick(world.slots) ?? ""),
  hold: (world, random) => world.hold(random.pick(world.slots) ?? ""),
  goOn: (world, random) => world.goOn(random.pick(world.slots) ?? ""),
  setClock: (world, random) => world.setClock(random.pick(world.slots) ?? "", random.pick(clockJumps) ?? 0),
  weather: (world, random) => {
    const weather = random.weighted<WeatherKind>({ calm: 3, slow: 2, lossy: 2, stormy: 1 });
    for (const slot of world.slots) if (random.chance(0.5)) world.setWeather(slot, weather);
  },
  nodeMood: (world, random) => {
    world.node.mood = random.chance(0.4)
      ? calmNode
      : { slownessMs: random.between(50, 6000), pullFailures: random.pick([0, 0.1, 0.5]) ?? 0 };
    world.trace.add("node", `takes up to ${world.node.mood.slownessMs} ms, and cannot pull ${world.node.mood.pullFailures} of all images`);
  },
  endContainer: (world, random) => {
    const pod = random.pick(world.node.pods());
    if (pod !== undefined) world.node.endContainer(pod, random.chance(0.5) ? "OOMKilled" : "Error");
  },
  evict: (world, random) => {
    const pod = random.pick(world.node.pods());
    if (pod !== undefined && world.node.isUp) world.evict(pod);
  },
  deletePod: async (world, random) => {
    const pod = random.pick(world.node.pods());
    if (pod !== undefined) await world.deletePod(pod);
  },
  nodeDown: (world) => {
    if (world.node.isUp) world.cutOff();
  },
  nodeUp: (world, random) => {
    if (!world.node.isUp) world.node.comeUp({ wasRebooted: random.chance(0.3) });
  },
  scale: async (world, random) => {
    const [pool, replicas] = [random.pick(world.plainPools()), random.between(0, 5)];
    if (pool !== undefined) await world.scale(pool, replicas);
  },
  rollout: async (world, random) => {
    const pool = random.pick(world.plainPools());
    if (pool !== undefined) await world.changeTemplate(pool);
  },
  timeouts: (world, random) => {
    const api = random.pick(world.apis());
    if (api !== undefined) world.clients.changeTimeouts(api);
  },
  deletePool: async (world, random) => {
    const pool = random.pick(world.plainPools());
    if (pool !== undefined && random.chance(0.5)) await world.deletePool(pool);
  },
  createPool: async (world, random) => {
    const pool = random.pick(poolSorts);
    // A second and third pool make every run longer, and show nothing new.
    if (pool !== undefined && world.plainPools().length < (world.hasEnv ? 1 : 2)) await world.createPool(pool, random);
  },
  changeEnv: async (world, random) => {
    if (world.hasEnv) await world.env.change(random);
  },
  plugin: (world, random) => {
    if (world.hasEnv) world.env.setPlugin({ most: random.pick([0, 1, 2, Infinity, Infinity]) ?? Infinity, isBroken: random.chance(0.2) });
  },
  quota: async (world, random) => {
    if (world.hasEnv) await world.env.setQuota(random.between(1, 5));
  },
  foreign: (world, random) => {
    const api = random.pick(world.apis());
    if (api !== undefined) world.clients.createForeign(api, world.sources());
  },
  wait: () => {},
};

const clockJumps = [-600_000, -30_000, -3_000, 3_000, 30_000, 600_000];

function create(world: World, random: SeededRandom): void {
  const api = random.pick(world.apis());
  if (api !== undefined && world.sources().length > 0) world.clients.create(api, world.sources());
}

/** Mostly so little time that a step happens in the middle of what the last one began. */
function pauseMs(random: SeededRandom): number {
  const scale = random.weighted({ none: 3, moment: 10, second: 8, while: 5, long: 1 });
  return { none: 0, moment: random.between(1, 30), second: random.between(30, 2000), while: random.between(2000, 15_000), long: 70_000 }[
    scale
  ];
}

export async function step(world: World, random: SeededRandom): Promise<void> {
  await doings[random.weighted(weights)](world, random);
  await world.clock.step(pauseMs(random));
}
