import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { AuditEntry } from "#store/audit/audit-store.ts";
import { AuditTrail, type NewEntry } from "./audit-trail.ts";

const entry = (target: string, team = "red"): NewEntry => ({
  keyId: "k",
  role: "tenant",
  team,
  user: "",
  action: "DELETE /v1/things/:id",
  target,
  subject: {},
  address: "192.0.2.1",
  agent: "",
  status: 204,
  ms: 1,
  requestId: "r",
});

function open({ entriesPerTeam, failures = 0 }: { readonly entriesPerTeam?: number; readonly failures?: number } = {}) {
  const clock = new SteppedClock();
  const registry = new Registry();
  const groups: string[][] = [];
  const trims: string[] = [];
  let left = failures;
  const store = {
    add: async (entries: readonly AuditEntry[]) => {
      await Promise.resolve();
      if (left-- > 0) throw new Error("away");
      groups.push(entries.map(({ target }) => target));
    },
    trim: async (team: string, keep: number) => {
      trims.push(`${team} to ${keep}`);
      return 0;
    },
  };
  const { log, lines } = recordedLog();
  const trail = new AuditTrail({ store, clock, log, metrics: prometheusMetrics(registry), entriesPerTeam, random: () => 1 });
  const dropped = async (): Promise<number> =>
    (await registry.getSingleMetric("agentbox_audit_entries_dropped_total")?.get())?.values[0]?.value ?? 0;
  return { trail, clock, groups, trims, lines, dropped };
}

describe("the audit trail", () => {
  test("a note resolves when its entry is stored; those that come meanwhile are stored together", async () => {
    const { trail, groups } = open();
    await Promise.all(["a", "b", "c"].map((target) => trail.note(entry(target))));
    expect(groups).toEqual([["a"], ["b", "c"]]);
  });

  test("an entry that comes just when the last group is written is stored too", async () => {
    for (let steps = 0; steps < 12; steps++) {
      const { trail, groups } = open();
      void trail.note(entry("a"));
      for (let step = 0; step < steps; step++) await Promise.resolve();
      void trail.note(entry("b"));
      await settle();
      expect(groups.flat()).toEqual(["a", "b"]);
    }
  });

  test("a database that is away holds up a request for a second, and gets the entry later", async () => {
    const { trail, clock, groups, lines } = open({ failures: 4 });
    let isOver = false;
    void trail.note(entry("a")).then(() => (isOver = true));
    await clock.step(999);
    expect(isOver).toBe(false);
    await clock.step(1);
    expect([isOver, groups]).toEqual([true, []]);
    await clock.step(10_000);
    expect(groups).toEqual([["a"]]);
    expect(lines).toHaveLength(1);
  });

  test("more than 2,500 waiting entries of a team are dropped and counted, and so are more than 10,000 of all", async () => {
    const { trail, clock, dropped } = open({ failures: Infinity });
    const note = async (count: number, team: string): Promise<number> => {
      const notes = Array.from({ length: count }, (_, index) => trail.note(entry(String(index), team)));
      await clock.step(1000);
      await Promise.all(notes);
      return dropped();
    };
    expect(await note(2503, "red")).toBe(3);
    expect(await note(2500, "blue")).toBe(3);
    for (const team of ["green", "white"]) expect(await note(2500, team)).toBe(3);
    expect(await note(1, "grey")).toBe(4);
  });

  test("a team may wait again for as many when its entries are stored", async () => {
    const { trail, clock, dropped } = open({ failures: 1 });
    for (let round = 0; round < 2; round++) {
      const notes = Array.from({ length: 2500 }, (_, index) => trail.note(entry(String(index))));
      await clock.step(60_000);
      await Promise.all(notes);
    }
    expect(await dropped()).toBe(0);
  });

  test("its end waits for the last entries, five seconds at most, and counts those that are lost", async () => {
    const { trail, clock, dropped } = open({ failures: Infinity });
    void trail.note(entry("a"));
    await settle();
    const ended = trail[Symbol.asyncDispose]();
    await clock.step(5000);
    await ended;
    expect(await dropped()).toBe(1);
  });

  test("a team's oldest entries go now and then, and no other team's", async () => {
    const { trail, trims } = open({ entriesPerTeam: 200 });
    for (let turn = 0; turn < 6; turn++) await trail.note(entry("a"));
    await trail.note(entry("b", "blue"));
    expect(trims).toEqual(["red to 200", "red to 200"]);
  });

  test("with a bound of 0 there is no audit log", async () => {
    const { trail, groups } = open({ entriesPerTeam: 0 });
    await trail.note(entry("a"));
    expect(groups).toEqual([]);
  });
});
