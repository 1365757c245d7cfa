import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { compareVersions } from "#kube/informer/versions.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { SandboxPodShape } from "../../../test/world/sandbox-pods.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { pauseAskedAt, WaitBench } from "../../../test/world/wait-bench.ts";
import { checkPaused, checkReady, checkResumed } from "#read-model/sandbox-checkers.ts";
import type { Checker } from "./verdict.ts";
import { isWaitError } from "./wait-error.ts";

type Action = "pause" | "resume" | "ready";

const checkers: Record<Action, Checker<Pod>> = { pause: checkPaused, resume: checkResumed, ready: checkReady };

const shapes: Record<string, SandboxPodShape> = {
  running: {},
  "not ready": { ready: false },
  "to be paused": { pauseWish: pauseAskedAt },
  paused: { pauseWish: pauseAskedAt, paused: {}, ready: false },
  thawing: { paused: {}, ready: false },
  released: { phase: "stopping" },
};

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ change: fc.constantFrom(...Object.keys(shapes)), ours: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      wait: fc.constantFrom<Action>("pause", "resume", "ready"),
      timeoutMs: fc.constantFrom(0, 5_000, 60_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ cancel: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ server: fc.constantFrom("remove", "end watches", "break watches", "forget", "repeat") }) },
  { weight: 1, arbitrary: fc.record({ stepMs: fc.constantFrom(1, 4_999, 5_000, 60_000) }) },
);

interface Waiting {
  readonly action: Action;
  /** What the caller brought. */
  readonly pod: Pod;
  readonly abort: AbortController;
  outcome: { readonly object: Pod } | { readonly error: unknown } | undefined;
}

/** A pod, and all waits for it. Safety re-checks are out of reach, so only events can end a wait in time. */
class World {
  readonly bench: WaitBench;
  readonly waits: Waiting[] = [];
  #known: Pod;

  constructor(bench: WaitBench) {
    this.bench = bench;
    this.#known = bench.put();
  }

  change(shape: SandboxPodShape, ours: boolean): void {
    this.#known = this.bench.put(shape);
    if (ours) this.bench.informer.remember(this.#known);
  }

  wait(action: Action, timeoutMs: number): void {
    const waiting: Waiting = { action, pod: this.#known, abort: new AbortController(), outcome: undefined };
    this.waits.push(waiting);
    try {
      const { waits } = this.bench;
      const task =
        action === "ready" ? waits.lazyTask(action, this.#known, checkReady) : waits.acquiredTask(action, this.#known, checkers[action]);
      task.wait({ timeoutMs, signal: waiting.abort.signal }).then(
        (object) => (waiting.outcome = { object }),
        (error: unknown) => (waiting.outcome = { error }),
      );
    } catch (error) {
      waiting.outcome = { error };
    }
  }

  misbehave(how: string): void {
    const { server } = this.bench;
    if (how === "remove") {
      if (server.all(Pods).length > 0) server.remove(Pods, { namespace: "ns", name: "p" });
    } else if (how === "end watches") server.endWatches();
    else if (how === "break watches") server.breakWatches(new ApiError("Unreachable", "reset"));
    else if (how === "forget") server.compact();
    else server.repeat(3);
  }

  /** Waits that the cache, or what their caller brought if that is newer, could end now, and that have not ended. */
  overlooked(): Action[] {
    const cached = this.bench.informer.get({ namespace: "ns", name: "p" });
    if (cached === undefined) return [];
    const open = this.waits.filter(({ outcome }) => outcome === undefined);
    return open
      .filter(({ action, pod }) => checkers[action](newest(cached, pod), this.bench.clock.now()).kind !== "waiting")
      .map(({ action }) => action);
  }

  /** Outcomes that contradict the object or are none of a wait's own errors. */
  wrong(): unknown[] {
    return this.waits.filter(({ action, outcome }) => {
      if (outcome === undefined) return true;
      return "object" in outcome
        ? checkers[action](outcome.object, this.bench.clock.now()).kind !== "satisfied"
        : !isWaitError(outcome.error);
    });
  }
}

function newest(a: Pod, b: Pod): Pod {
  return compareVersions(a.metadata.resourceVersion ?? "", b.metadata.resourceVersion ?? "") < 0 ? b : a;
}

test("no wait overlooks a state that the cache shows, every wait ends in time, and nothing stays held", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30, size: "max" }), async (steps) => {
      await using bench = await WaitBench.start(1e9);
      const world = new World(bench);
      for (const each of steps) {
        if ("change" in each) world.change(shapes[each.change] ?? {}, each.ours);
        else if ("wait" in each) world.wait(each.wait, each.timeoutMs);
        else if ("cancel" in each) world.waits[each.cancel]?.abort.abort(new Error("given up"));
        else if ("server" in each) world.misbehave(each.server);
        else await bench.clock.step(each.stepMs);
        await settle();
        expect(world.overlooked()).toEqual([]);
        expect(new Set(bench.waits.held().map(({ action }) => action)).size).toBeLessThanOrEqual(1);
      }
      await bench.clock.step(60_000);
      expect(world.wrong()).toEqual([]);
      expect(bench.waits.held()).toEqual([]);
    }),
    { numRuns: 200 },
  );
}, 60_000);
