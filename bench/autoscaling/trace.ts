/**
 * Arrivals from a file. Formats, told apart by the first line:
 *
 * - times: CSV, one request a line, its time in the column TIMESTAMP, else in the first: a date or a number of seconds. One pool.
 * - minutes: CSV, one function a line, with columns named 1, 2, 3, … or minute_1, minute_2, … that count its calls in each minute. One pool each; calls
 *   are spread over their minute by chance.
 * - calls: CSV with the columns func, end_timestamp and duration in seconds, one call a line. One pool for each func.
 *
 * `livesFile`: how long calls of the functions of a minutes file take, by HashFunction: columns percentile_Average_25, _50, _75 in milliseconds.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { learningMs, type NamedLoad, refillMs } from "./made-loads.ts";
import { lives, normal, type Random, seeded } from "./random.ts";
import type { Load } from "./simulate.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

export interface TraceWish {
  readonly livesFile: string | undefined;
  readonly seed: number;
  /** Of more pools, so many are taken, spread over the file. */
  readonly maxPools: number;
}

type Table = { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] };
type Spread = (count: number, pool: string) => readonly number[];

export function traceLoad(file: string, { livesFile, seed, maxPools }: TraceWish): NamedLoad {
  const table = readTable(file);
  const random = seeded(seed + 9);
  const spread = livesFile === undefined ? (count: number) => lives(count, random) : livesByFunction(readTable(livesFile), random);
  const pools = poolsOf(table, random, spread).filter(({ arrivals }) => arrivals.length > 0);
  if (pools.length === 0) throw new Error(`${file}: no arrivals in it; the first line says ${table.columns.slice(0, 5).join(",")}`);
  const step = Math.max(1, pools.length / maxPools);
  const taken = pools.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  return { name: basename(file), kind: "other", pools: taken };
}

function poolsOf(table: Table, random: Random, spread: Spread): readonly Load[] {
  const { columns } = table;
  if (columns.includes("end_timestamp") && columns.includes("duration")) return byCalls(table);
  const first = columns.findIndex((name) => /^(minute_)?1$/.test(name));
  if (first >= 0) return byMinutes(table, first, random, spread);
  return [byTimes(table, spread)];
}

function byTimes({ columns, rows }: Table, spread: Spread): Load {
  const column = Math.max(
    0,
    columns.findIndex((name) => /^timestamp$/i.test(name)),
  );
  // A file without a line of names begins with a time.
  const cells = [columns[column] ?? "", ...rows.map((row) => row[column] ?? "")];
  const times = inOrder(cells.map(timeOf).filter((time) => !Number.isNaN(time)));
  const arrivals = fromZero(times);
  return { arrivals, lives: spread(arrivals.length, ""), refillMs, lastsMs: (arrivals.at(-1) ?? 0) + minuteMs, countFromMs: learningMs };
}

/** Milliseconds; NaN when the cell is no time. */
function timeOf(cell: string): number {
  const text = cell.trim();
  if (text === "") return Number.NaN;
  const number = Number(text);
  if (!Number.isNaN(number)) return number * 1000;
  // More than three digits of a second, and a space instead of T, are not read by every parser.
  const [, day, clock, part = "", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,3})?\d*\s*(Z|[+-]\d\d:?\d\d)?$/.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}T${clock}${part}${zone}`);
}

function byMinutes({ columns, rows }: Table, first: number, random: Random, spread: Spread): readonly Load[] {
  const key = columns.indexOf("HashFunction");
  const lastsMs = (columns.length - first) * minuteMs;
  return rows.map((row) => {
    const arrivals = inOrder(
      row.slice(first).flatMap((calls, minute) => Array.from({ length: Number(calls) || 0 }, () => (minute + random()) * minuteMs)),
    );
    return { arrivals, lives: spread(arrivals.length, row[key] ?? ""), refillMs, lastsMs, countFromMs: learningMs };
  });
}

function byCalls({ columns, rows }: Table): readonly Load[] {
  const [func, end, duration] = ["func", "end_timestamp", "duration"].map((name) => columns.indexOf(name)) as [number, number, number];
  const calls = rows.map((row) => ({ func: row[func] ?? "", end: Number(row[end]) * 1000, life: Number(row[duration]) * 1000 }));
  const begin = calls.reduce((least, call) => Math.min(least, call.end - call.life), Infinity);
  const lastsMs = calls.reduce((most, call) => Math.max(most, call.end), 0) - begin + minuteMs;
  return [...Map.groupBy(calls, (call) => call.func).values()].map((ofOne) => {
    const sorted = ofOne.toSorted((one, other) => one.end - one.life - other.end + other.life);
    return {
      arrivals: sorted.map((call) => call.end - call.life - begin),
      lives: sorted.map(({ life }) => life),
      refillMs,
      lastsMs,
      countFromMs: learningMs,
    };
  });
}

/** Log-normal through the median and the quartiles. */
function livesByFunction({ columns, rows }: Table, random: Random): Spread {
  const at = (row: readonly string[], name: string): number => Math.max(1, Number(row[columns.indexOf(name)]));
  const known = new Map(
    rows.map((row) => {
      const [low, median, high] = [25, 50, 75].map((percent) => at(row, `percentile_Average_${percent}`)) as [number, number, number];
      return [row[columns.indexOf("HashFunction")] ?? "", { median, sigma: Math.log(high / low) / 1.349 }];
    }),
  );
  return (count, pool) => {
    const { median, sigma } = known.get(pool) ?? { median: minuteMs, sigma: 1 };
    return Array.from({ length: count }, () => Math.min(dayMs, median * Math.exp(sigma * normal(random))));
  };
}

function readTable(file: string): Table {
  const [head = "", ...lines] = readFileSync(file, "utf8").trim().split(/\r?\n/);
  return { columns: head.split(",").map((name) => name.trim()), rows: lines.map((line) => line.split(",")) };
}

function fromZero(times: readonly number[]): readonly number[] {
  const first = times[0] ?? 0;
  return times.map((time) => time - first);
}

function inOrder(times: readonly number[]): readonly number[] {
  return times.toSorted((one, other) => one - other);
}
