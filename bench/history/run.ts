/**
 * `make bench-history`: the history store on SQLite and on PostgreSQL (started for this run), with many records.
 *   --records N        (default 200000)
 *   --only NAME,NAME   some of the databases (sqlite, postgres)
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { sandboxStopReasons } from "#model/keys.ts";
import type { HistoryQuery, HistoryStore } from "#store/history-store.ts";
import { openHistory } from "#store/open-history.ts";
import { keyOf } from "#store/record-key.ts";
import { startPostgres } from "../../test/history/postgres-server.ts";
import { percentile, type Row, table, timed } from "../lib/measure.ts";
import { bigTeam, days, firstDay, sampleRecord, smallTeam } from "./sample-history.ts";

const { values: args } = parseArgs({
  options: { records: { type: "string", default: "200000" }, only: { type: "string", default: "sqlite,postgres" } },
});
const total = Number(args.records);
const log = openLog({ clock: systemClock, out: process.stderr });

interface Subject {
  readonly location: string;
  /** After the records are in: what a database does by itself within minutes. */
  readonly settle: () => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

const subjects: Record<string, () => Promise<Subject>> = {
  sqlite: async () => {
    const folder = await mkdtemp(join(tmpdir(), "agentbox-bench-"));
    const stop = () => rm(folder, { recursive: true, force: true });
    return { location: join(folder, "history.db"), settle: () => Promise.resolve(), stop };
  },
  postgres: async () => {
    const server = await startPostgres();
    await server.createDatabase("bench");
    return { location: server.tcpUrl("bench"), settle: () => server.run("bench", "VACUUM ANALYZE"), stop: () => server.stop() };
  },
};

const results = new Map<string, Map<string, string>>();
for (const name of args.only.split(",")) {
  const start = subjects[name];
  if (start === undefined) throw new Error(`--only takes ${Object.keys(subjects).join(", ")}; not "${name}"`);
  const subject = await start();
  try {
    const history = await openHistory({ location: subject.location, clock: systemClock, log });
    results.set(name, await measure(history, subject));
    await history.close();
  } finally {
    await subject.stop();
  }
}
const names = [...results.keys()];
const rows: Row[] = [...(results.get(names[0] ?? "")?.keys() ?? [])].map((what) => ({
  what,
  values: Object.fromEntries(names.map((name) => [name, results.get(name)?.get(what) ?? ""])),
}));
console.log(`\n${total} records; milliseconds, p50 / p99\n`);
console.log(table(names, rows));

async function measure(history: HistoryStore, subject: Subject): Promise<Map<string, string>> {
  const own = new Map<string, string>();
  const note = (what: string, ms: readonly number[]) =>
    own.set(what, `${percentile(ms, 0.5).toFixed(2)} / ${percentile(ms, 0.99).toFixed(2)}`);

  const half = Math.floor(total / 2);
  const single = await timed(half, 1, (index) => history.put(sampleRecord(index, total)));
  note("put, one after the other", single.ms);
  const many = await timed(total - half, 10, (index) => history.put(sampleRecord(half + index, total)));
  own.set("puts per second, 10 at once", many.perSecond.toFixed(0));
  await subject.settle();
  note("put again, nothing new", (await timed(500, 1, (index) => history.put(sampleRecord(index * 7, total)))).ms);
  note("get", (await timed(500, 1, (index) => history.get(sampleRecord(index * 11, total).sandboxId, { kind: "admin" }))).ms);

  for (const [what, query] of Object.entries(await searches(history))) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const { ms } = await timed(30, 1, () => history.search(query));
    delay.disable();
    const page = await history.search(query);
    note(`${what} (${page.records.length}${page.next === undefined ? "" : "+"})`, ms);
    own.set(`${what}: process held up, most`, (delay.max / 1e6).toFixed(1));
  }
  const week = new Date(firstDay + (days - 7) * 86_400_000).toISOString();
  const month = new Date(firstDay).toISOString();
  const tenant = { kind: "tenant", team: bigTeam } as const;
  note("statistics of a week, big tenant", (await timed(10, 1, () => history.statistics({ scope: tenant, claimedAfter: week }))).ms);
  note("statistics of everything", (await timed(5, 1, () => history.statistics({ scope: { kind: "admin" }, claimedAfter: month }))).ms);
  note("forgetting 100", (await timed(20, 1, () => history.prune({ olderThan: week, limit: 100 }))).ms);
  return own;
}

async function searches(history: HistoryStore): Promise<Record<string, HistoryQuery>> {
  const big = { scope: { kind: "tenant", team: bigTeam }, limit: 50 } as const;
  const admin = { scope: { kind: "admin" }, limit: 50 } as const;
  const middle = sampleRecord(Math.floor(total * 0.05), total);
  const one = (await history.search({ ...big, limit: 1, after: keyOf(middle) })).records[0] ?? middle;
  const { run = "" } = one.metadata;
  return {
    "page of 50, big tenant": big,
    "page of 50, small tenant": { ...big, scope: { kind: "tenant", team: smallTeam } },
    "page of 50, one user": { ...big, scope: { kind: "tenant", team: bigTeam, user: "user-3" } },
    "page of 50, admin": admin,
    "deep page, big tenant (95 % in)": { ...big, after: keyOf(middle) },
    "deep page, admin (95 % in)": { ...admin, after: keyOf(middle) },
    "rare pair of metadata": { ...big, metadata: { run } },
    "common pair of metadata": { ...big, metadata: { stage: "production" } },
    "common and rare pair": { ...big, metadata: { stage: one.metadata["stage"] ?? "", run } },
    "common and rare pair, admin": { ...admin, metadata: { stage: one.metadata["stage"] ?? "", run } },
    "one pool": { ...big, pool: "pool-7" },
    "rare status": { ...big, status: ["Canceled"] },
    "all ended": { ...big, status: sandboxStopReasons },
    "beginning of an id": { ...big, idPrefix: one.sandboxId.slice(0, 10) },
    "no match, two common filters": { ...admin, pool: "pool-7", env: "env-9" },
    "no match, ended before it began": { ...big, endedBefore: new Date(firstDay).toISOString() },
  };
}
