/**
 * One run of the whole control plane in one process, in simulated time, with all kinds of failures. The same seed gives the same run, to the last event.
 *
 * - `run.ts` the command; `many-runs.ts`, `seeds-process.ts` many runs on all cores; `simulate.ts` (this file) one run; `world.ts` all parts
 *   of it; `actions.ts` what may happen
 * - `control-plane.ts` the product's parts, as a composition root wires them; `plants.ts` mistakes put in on purpose
 * - `process.ts` a process that may be killed or held; `wire.ts`, `weather.ts` what becomes of its calls; `faulty-client.ts`,
 *   `faulty-watch.ts`, `faulty-history.ts`, `daemons.ts` what it calls
 * - `node.ts`, `node-status.ts`, `container.ts` the node; `pools.ts` the pools, `envs.ts`, `env-world.ts` the Env; `clients.ts` the clients that want sandboxes,
 *   `demand.ts` how many of them wait; `checkpoints.ts` checkpoints of sandboxes, and their images
 * - `ledger.ts` what really happened; `judge.ts` what must not have; `pod-monitor.ts`, `causes.ts`, `replica-watch.ts`, `env-watch.ts`,
 *   `write-rate.ts`, `arming-check.ts` and `state-checks.ts` what looks for it; `follow.ts`, `pods-with-claims.ts` how
 *   they see pods
 * - `sorts-of-runs.ts` what a seed says about its run; `random.ts`, `trace.ts`, `quiet.ts`, `failure-code.ts` small things
 */
import { step } from "./actions.ts";
import { poolOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isMember } from "./env-world.ts";
import { envName, envTeam } from "./envs.ts";
import type { Violation } from "./judge.ts";
import type { Request } from "./ledger.ts";
import { calmNode } from "./node.ts";
import { checkHistory, checkState, type StateDeps, whyNotSettled } from "./state-checks.ts";
import { callTimeoutMs } from "./weather.ts";
import { type Plant, World } from "./world.ts";

export interface Run {
  readonly seed: number;
  readonly steps?: number;
  readonly plant?: Plant | undefined;
}

export interface Outcome {
  readonly seed: number;
  readonly violation: Violation | undefined;
  /** Everything that happened, in words. */
  readonly trace: string;
}

export const defaultSteps = 80;

/** By then everything must be as it should, once nothing bad happens any more. The slowest thing is a watch that fell silent. */
const settleWithinMs = 20 * 60_000;
const settleStepMs = 5_000;
/** So long nothing may happen after that. */
const quietMs = 120_000;

export async function simulate({ seed, steps = defaultSteps, plant }: Run): Promise<Outcome> {
  const world = await World.open(seed, plant);
  try {
    await world.begin();
    const random = world.random.fork("steps");
    for (let left = steps; left > 0 && world.judge.violation === undefined; left--) {
      await step(world, random);
      await world.checkpoints?.step();
      checkState(stateOf(world));
    }
    if (world.judge.violation === undefined) await settle(world);
    return outcomeOf(world, seed);
  } catch (error) {
    // Whatever throws into the world itself is a mistake too.
    world.judge.violate("error", error instanceof Error ? (error.stack ?? error.message) : String(error));
    return outcomeOf(world, seed);
  } finally {
    world.close();
  }
}

function outcomeOf({ judge, trace }: World, seed: number): Outcome {
  const { violation } = judge;
  return { seed, violation: violation && { ...violation, message: trace.inNames(violation.message) }, trace: trace.text() };
}

function stateOf({ ledger, judge, node, monitor, clock, env }: World): StateDeps {
  const isEnvFull = (pool: string): boolean => isMember(pool) && env.watch.isFull();
  return { ledger, judge, node, pods: () => monitor.pods(), now: () => clock.now(), isEnvFull };
}

/** Nothing bad happens any more, and everything comes to where it should be (I6, I7, I10, I11). */
async function settle(world: World): Promise<void> {
  await calm(world);
  const state = stateOf(world);
  // What was sent in bad weather may still arrive.
  await world.clock.step(2 * callTimeoutMs);
  const until = world.clock.now() + settleWithinMs;
  const whyNot = (): string | undefined =>
    whyNotSettled(state, world.goals) ??
    world.env.watch.whyNotSettled() ??
    world.checkpoints?.whyNotSettled() ??
    (world.silences.size === 0 ? undefined : "I10: a watch is silent, and no process notices");
  let why = whyNot();
  while (why !== undefined && world.clock.now() < until && world.judge.violation === undefined) {
    await world.clock.step(settleStepMs);
    checkState(state);
    why = whyNot();
  }
  if (why !== undefined) world.judge.violate(why.slice(0, why.indexOf(":")), `${why.slice(why.indexOf(":") + 2)}, in the end`);
  if (world.judge.violation !== undefined) return;
  world.trace.add("world", "everything is as it should be");
  await rest(world, state);
  await serve(world, state);
  await share(world, state);
  await fillEnv(world, state);
  await steadyLoad(world, state);
  await checkHistory(state, world.history, () => world.clock.step(settleStepMs));
}

async function calm(world: World): Promise<void> {
  world.trace.add("world", "nothing bad happens any more");
  if (!world.node.isUp) world.node.comeUp({ wasRebooted: false });
  world.node.mood = calmNode;
  if (world.hasEnv) {
    world.env.setPlugin({ most: Infinity, isBroken: false });
    await world.env.setQuota(Infinity);
  }
  for (const slot of world.slots) {
    world.setWeather(slot, "calm");
    await world.goOn(slot);
    world.correctClock(slot);
    world.start(slot);
  }
}

/** Every waiting request gets a free pod, whatever happened before, from every process (I7, I9, I11). */
async function serve(world: World, state: StateDeps): Promise<void> {
  for (const api of world.apis()) {
    for (const pool of world.goals.keys()) {
      const isFree = world.monitor.pods().some((pod) => poolOf(pod) === pool && sandboxPhaseOf(pod) === "idle");
      if (!isFree) continue;
      world.clients.create(api, [pool]);
      await world.clock.step(settleStepMs);
      checkState(state);
      const request = world.ledger.requests.at(-1);
      world.judge.hold("I9", request?.state !== "failed", () => `${request?.name ?? ""} got none of the idle pods of ${pool}`);
    }
  }
}

/**
 * One tenant wants more than there is, then another tenant sends a request: of the next two free pods at least one goes to the second tenant, however many
 * requests of the first one wait (I9).
 */
async function share(world: World, state: StateDeps): Promise<void> {
  const [api] = world.apis();
  const pool = world.plainPools().find((name) => (world.goals.get(name)?.replicas ?? 0) >= 2);
  if (api === undefined || pool === undefined || world.judge.violation !== undefined) return;
  const longMs = 600_000;
  const many = Array.from({ length: 8 }, () => world.clients.createFor(api, "red", pool, longMs));
  await world.clock.step(settleStepMs);
  const late = world.clients.createFor(api, "blue", pool, longMs);
  // One that has a pod had its turn, though it is not answered yet.
  const hasPod = (request: Request): boolean => world.ledger.sandboxes.values().some((sandbox) => sandbox.request === request);
  const waiting = many.filter((request) => isWaiting(request) && !hasPod(request));
  for (const sandbox of world.ledger
    .held()
    .filter(({ podUid }) => poolAt(world, podUid) === pool)
    .slice(0, 2)) {
    world.clients.endOne(api, sandbox);
    await world.clock.step(settleStepMs);
  }
  checkState(state);
  const turns = waiting.filter(hasPod).length;
  world.judge.hold(
    "I9",
    !isWaiting(late) || hasPod(late) || turns < 2,
    () => `${late.name} still waits, and another tenant had ${turns} turns meanwhile`,
  );
}

/** As many requests at once as fit under the Env's ceiling: each is served (E3). */
async function fillEnv(world: World, state: StateDeps): Promise<void> {
  const [api] = world.apis();
  if (!world.hasEnv || api === undefined || world.judge.violation !== undefined) return;
  const room = world.env.watch.room();
  world.trace.add("world", `${room} more requests fit under the ceiling of the Env`);
  const requests = Array.from({ length: room }, () => world.clients.createFor(api, envTeam, envName, fillMs));
  await world.clock.step(fillMs + settleStepMs);
  checkState(state);
  const refused = requests.filter((request) => request.state !== "answered").length;
  world.judge.hold("E3", refused === 0, () => `${refused} of ${room} requests that fit under the ceiling were not served`);
}

const fillMs = 90_000;

/** One sandbox after the other, for minutes: the Env finds its size and stays there (E2). */
async function steadyLoad(world: World, state: StateDeps): Promise<void> {
  const [api] = world.apis();
  if (!world.hasEnv || api === undefined || world.judge.violation !== undefined) return;
  for (const sandbox of world.ledger.held()) world.clients.endOne(api, sandbox);
  await world.clock.step(restMs);
  world.trace.add("world", "one sandbox after the other");
  world.env.watch.beginSteadyLoad(world.clock.now());
  for (let left = steadyTurns; left > 0 && world.judge.violation === undefined; left--) {
    world.clients.createFor(api, envTeam, envName, fillMs);
    await world.clock.step(steadyTurnMs);
    for (const sandbox of world.ledger.held()) world.clients.endOne(api, sandbox);
    await world.clock.step(steadyTurnMs);
    checkState(state);
  }
}

const restMs = 120_000;
const steadyTurns = 12;
const steadyTurnMs = 4_000;

function isWaiting({ state }: Request): boolean {
  return state === "pending";
}

function poolAt({ monitor }: World, podUid: string): string | undefined {
  const pod = monitor.pod(podUid);
  return pod === undefined ? undefined : poolOf(pod);
}

/** A control plane with nothing to do writes nothing: no pod comes or goes (I6). */
async function rest(world: World, state: StateDeps): Promise<void> {
  const { creations } = world.replicas;
  const ofEnvBefore = world.env.watch.creations;
  const ended = world.ledger.records.size;
  await world.clock.step(quietMs);
  checkState(state);
  // A sandbox whose time is over meanwhile may end, and its pod be replaced.
  const explained = world.ledger.records.size - ended;
  // An Env may find its size meanwhile; that it does not swing is looked at below (E2).
  const ofEnv = world.env.watch.creations - ofEnvBefore;
  const created = world.replicas.creations - creations - ofEnv;
  world.judge.hold("I6", created <= explained, () => `${created} pods were created when all was as it should be`);
}
