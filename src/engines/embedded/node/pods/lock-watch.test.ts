import { afterEach, expect, test } from "vitest";
import { recordedLog } from "../../../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import { type LockedPod, LockWatch, manyMore, mostLocks } from "./lock-watch.ts";

/** A machine whose pods hold as many locks as the numbers say, file by file. A negative number is milliseconds that a file takes. */
class Scene {
  readonly clock = new SteppedClock();
  /** How much later it is than the steps say: time that looking takes. */
  #later = 0;
  readonly log = recordedLog();
  readonly pods = new Map<string, number[]>();
  readonly killed: string[] = [];
  /** Of pods that were looked through. */
  looks = 0;
  others: number | undefined = 5000;
  readonly watch = new LockWatch({
    clock: { now: () => this.clock.now() + this.#later, after: (ms, run) => this.clock.after(ms, run) },
    log: this.log.log,
    locksOfMachine: async () => this.others && this.others + [...this.pods.values()].flat().reduce((sum, one) => sum + Math.max(0, one), 0),
    pods: () => this.pods.keys().map((uid) => this.#pod(uid)),
  });

  #pod(uid: string): LockedPod {
    return {
      uid,
      locks: () => this.#locksOf(uid),
      kill: async () => {
        this.killed.push(uid);
        this.pods.delete(uid);
      },
    };
  }

  async *#locksOf(uid: string): AsyncGenerator<number, void> {
    this.looks++;
    for (const count of this.pods.get(uid) ?? []) {
      if (count < 0) this.#later -= count;
      yield Math.max(0, count);
    }
  }
}

let scene: Scene;
afterEach(() => scene.watch.close());

test("a sandbox that takes locks without end is killed within a second or two, and its neighbours are not", async () => {
  scene = new Scene();
  scene.pods.set("good", [40, 3]);
  await scene.clock.step(1000);
  scene.pods.set(
    "bad",
    Array.from({ length: 120 }, () => 1000),
  );
  await scene.clock.step(1000);
  expect(scene.killed).toEqual(["bad"]);
  await scene.clock.step(5000);
  expect(scene.killed).toEqual(["bad"]);
});

test("as long as the machine has few locks more than before no sandbox is looked at", async () => {
  scene = new Scene();
  scene.pods.set("good", [40]);
  await scene.clock.step(1000);
  scene.others = 5000 + manyMore - 1;
  await scene.clock.step(60_000);
  expect(scene.looks).toBe(0);
});

test("locks of the machine's own programs, however many, make no sandbox one to be killed", async () => {
  scene = new Scene();
  scene.pods.set("good", [mostLocks]);
  await scene.clock.step(1000);
  scene.others = 1_000_000;
  await scene.clock.step(60_000);
  expect({ killed: scene.killed, looks: scene.looks }).toEqual({ killed: [], looks: 1 });
  expect(scene.log.lines).toMatchObject([{ ofMachine: 1_000_000 + mostLocks, msg: expect.stringContaining("no sandbox has too many") }]);
});

test("many sandboxes that take locks together are all killed, one after another as their number grows", async () => {
  scene = new Scene();
  await scene.clock.step(1000);
  for (let one = 0; one < 20; one++) scene.pods.set(`bad-${one}`, [mostLocks + 1]);
  await scene.clock.step(1000);
  expect(scene.killed).toHaveLength(20);
});

test("a sandbox with too many files to be looked through is killed only where no other one explains the locks", async () => {
  scene = new Scene();
  await scene.clock.step(1000);
  scene.pods.set("many files", [10, -10_000, 10, 10]);
  scene.pods.set("bad", [manyMore]);
  await scene.clock.step(1000);
  expect(scene.killed).toEqual(["bad"]);
  scene.others = manyMore + 10_000;
  await scene.clock.step(1000);
  expect(scene.killed).toEqual(["bad", "many files"]);
});

test("where the kernel does not say how many there are, the log says so once", async () => {
  scene = new Scene();
  scene.others = undefined;
  await scene.clock.step(60_000);
  expect(scene.log.lines.filter(({ msg }) => msg.includes("does not say"))).toHaveLength(1);
});
