/**
 * Pools as unlike each other as serverless functions are, by what is published of them: 45 % are asked at most once an hour, 81 % at most
 * once a minute, and the rest gets nearly all requests, over orders of magnitude. Some are called by timers, some at random, some in
 * clusters (coefficient of variation of the gaps up to 13). About half of the load is the same all day.
 */
import { exponential, lives, normal, type Random, timesByRate } from "./random.ts";
import type { Load } from "./simulate.ts";

const hourMs = 3_600_000;
const refillMs = 2_000;

export function serverlessPools(random: Random, isQuick: boolean): readonly Load[] {
  const [count, lastsMs] = isQuick ? [20, 6 * hourMs] : [40, 24 * hourMs];
  return Array.from({ length: count }, (_, index) => poolOf((index + 0.5) / count, lastsMs, random)).filter(
    ({ arrivals }) => arrivals.length > 0,
  );
}

/** `rank`: share of the pools that are asked less often. */
function poolOf(rank: number, lastsMs: number, random: Random): Load {
  const arrivals = timesOf(perHourAt(rank, random), lastsMs, random);
  return { arrivals, lives: livesOf(arrivals.length, random), refillMs, lastsMs, countFromMs: hourMs };
}

function perHourAt(rank: number, random: Random): number {
  if (rank < 0.45) return 0.1 * 10 ** random();
  if (rank < 0.81) return 60 ** ((rank - 0.45) / 0.36);
  return 60 * 40 ** ((rank - 0.81) / 0.19);
}

function timesOf(perHour: number, lastsMs: number, random: Random): readonly number[] {
  const kind = random();
  if (kind < 0.3) return byTimer(hourMs / perHour, lastsMs, random);
  if (kind < 0.7) return timesByRate(dayAndNight(perHour, random), lastsMs, random);
  return inClusters(perHour, lastsMs, random);
}

function byTimer(everyMs: number, lastsMs: number, random: Random): readonly number[] {
  const times: number[] = [];
  for (let at = random() * everyMs; at < lastsMs; at += everyMs) times.push(at + random() * 300);
  return times;
}

function dayAndNight(perHour: number, random: Random): (seconds: number) => number {
  const swing = 0.5 * random();
  return (seconds) => (perHour / 3600) * (1 + swing * Math.sin((seconds / 86_400) * 2 * Math.PI));
}

/** Sizes are log-normal, so a few clusters have most of the requests. */
function inClusters(perHour: number, lastsMs: number, random: Random): readonly number[] {
  const [median, sigma] = [3, 1.1];
  const everyMs = (hourMs / perHour) * median * Math.exp(sigma ** 2 / 2);
  const times: number[] = [];
  for (let at = exponential(random, everyMs); at < lastsMs; at += exponential(random, everyMs)) {
    const size = Math.max(1, Math.round(median * Math.exp(sigma * normal(random))));
    for (let index = 0; index < size; index++) times.push(at + random() * 5_000);
  }
  return times.filter((at) => at < lastsMs).sort((one, other) => one - other);
}

/** As published for functions: ln seconds with mean -0.38 and deviation 2.36. At most a day, as a sandbox. */
function livesOf(count: number, random: Random): readonly number[] {
  return lives(count, random, 1000 * Math.exp(-0.38), 2.36).map((ms) => Math.min(ms, 24 * hourMs));
}
