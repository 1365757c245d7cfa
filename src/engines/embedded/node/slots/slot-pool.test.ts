import { describe, expect, test } from "vitest";
import { recordedLog } from "../../../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import type { Slot } from "./slot.ts";
import { SlotPool } from "./slot-pool.ts";

function world(options: { slots?: number; ahead?: number; taken?: number[]; fails?: (index: number) => Error | undefined } = {}) {
  const clock = new SteppedClock();
  const { log, lines } = recordedLog();
  const made: number[] = [];
  const removed: number[] = [];
  const make = async (index: number): Promise<Slot> => {
    const error = options.fails?.(index);
    if (error !== undefined) throw error;
    made.push(index);
    return { index, ip: `10.0.0.${index}`, firstUid: index, userNamespace: "", networkNamespace: "" };
  };
  const remove = ({ index }: Slot): void => {
    removed.push(index);
  };
  const pool = new SlotPool({ slots: options.slots ?? 10, ahead: options.ahead ?? 3, make, remove, clock, log }, new Set(options.taken));
  return { pool, clock, made, removed, lines };
}

const busy = (): Error => Object.assign(new Error("EEXIST: port"), { code: "EEXIST" });

describe("slots", () => {
  test("are made ahead, but not those that pods have already", async () => {
    const { made } = world({ taken: [0, 2] });
    await settle();
    expect(made).toEqual([1, 3, 4]);
  });

  test("that are taken are made anew when it has been calm for a moment", async () => {
    const { pool, clock, made } = world();
    await settle();
    expect((await pool.take()).index).toBe(0);
    await settle();
    expect(made).toEqual([0, 1, 2]);
    await clock.step(50);
    expect((await pool.take()).index).toBe(1);
    await clock.step(99);
    expect(made).toEqual([0, 1, 2]);
    await clock.step(1);
    expect(made).toEqual([0, 1, 2, 3, 4]);
  });

  test("are made at once when none is ready, for everybody who waits in their order", async () => {
    const { pool } = world({ ahead: 0 });
    const slots = await Promise.all([pool.take(), pool.take(), pool.take()]);
    expect(slots.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test("come back as late as possible", async () => {
    const { pool, removed } = world({ slots: 4, ahead: 0 });
    const [first, second] = [await pool.take(), await pool.take()];
    pool.giveBack(first);
    pool.giveBack(second);
    expect(removed).toEqual([0, 1]);
    const next = [await pool.take(), await pool.take(), await pool.take()];
    expect(next.map(({ index }) => index)).toEqual([2, 3, 0]);
  });

  test("whose port is still going away are passed over, and tried again later", async () => {
    const going = new Set([0, 1]);
    const { pool } = world({ slots: 4, ahead: 0, fails: (index) => (going.has(index) ? busy() : undefined) });
    expect((await pool.take()).index).toBe(2);
    expect((await pool.take()).index).toBe(3);
    going.clear();
    expect((await pool.take()).index).toBe(0);
  });

  test("that are all in use are a refusal, and a pod that goes makes room", async () => {
    const { pool } = world({ slots: 1, ahead: 1 });
    const only = await pool.take();
    await expect(pool.take()).rejects.toThrow("all 1 slots of this node are in use");
    pool.giveBack(only);
    expect((await pool.take()).index).toBe(0);
  });

  test("that cannot be made are the failure of whoever waits, and are tried again after a second", async () => {
    let broken = true;
    const { pool, clock, made, lines } = world({ ahead: 1, fails: () => (broken ? new Error("no new namespace") : undefined) });
    await expect(pool.take()).rejects.toThrow("no new namespace");
    expect(lines.at(-1)).toMatchObject({ level: "warn", msg: "could not make a slot" });
    broken = false;
    await clock.step(1000);
    expect(made).toEqual([1]);
  });

  test("that are ready are removed when the pool is closed; those of pods stay", async () => {
    const { pool, removed } = world({ ahead: 2 });
    await settle();
    await pool.take();
    await pool.close();
    expect(removed).toEqual([1]);
  });

  test("are not waited for when the pool is closed", async () => {
    const { pool } = world({ slots: 0, ahead: 0 });
    const refused = pool.take().then(String, String);
    await pool.close();
    expect(await refused).toMatch(/in use|being closed/);
  });
});
