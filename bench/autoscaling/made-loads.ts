/** Arrivals that are made: for a seed always the same. Lives are log-normal with a median of a minute. */
import { exponential, lives, type Random, seeded, timesByRate } from "./random.ts";
import { serverlessPools } from "./serverless.ts";
import type { Load } from "./simulate.ts";

export interface NamedLoad {
  readonly name: string;
  /** Goals differ: against fixed stocks on bursts, against the oracle on steady load. */
  readonly kind: "steady" | "bursts" | "other";
  /** One for each pool. */
  readonly pools: readonly Load[];
}

export const refillMs = 2_000;
/** A new Env learns its load: so long nothing is counted, for no policy. */
export const learningMs = 600_000;
const hourMs = 3_600_000;

export function madeLoads(seed: number, isQuick: boolean): readonly NamedLoad[] {
  const lastsMs = learningMs + (isQuick ? hourMs / 3 : hourMs);
  const one = (name: string, kind: NamedLoad["kind"], times: (random: Random, lastsMs: number) => readonly number[]): NamedLoad => {
    const random = seeded(seed * 100 + name.length);
    const arrivals = times(random, lastsMs);
    return { name, kind, pools: [{ arrivals, lives: lives(arrivals.length, random), refillMs, lastsMs, countFromMs: learningMs }] };
  };
  return [
    one("flat", "steady", (random, ms) => timesByRate(() => 2, ms, random)),
    one("slow", "steady", (random, ms) => timesByRate(() => 1 / 20, ms, random)),
    one("steps", "other", (random, ms) => timesByRate((second) => (Math.floor(second / 600) % 2 === 0 ? 0.5 : 4), ms, random)),
    one("ramp", "other", (random, ms) => timesByRate((second) => 0.2 + (6000 * second) / ms, ms, random)),
    one("bursts", "bursts", onAndOff),
    one("fan-out", "bursts", fanOut),
    { name: "serverless", kind: "other", pools: serverlessPools(seeded(seed), isQuick) },
  ];
}

/** Many in two and a half seconds, then nothing for most of a minute. */
function onAndOff(random: Random, lastsMs: number): readonly number[] {
  const times: number[] = [];
  for (let at = exponential(random, 40_000); at < lastsMs; at += exponential(random, 40_000)) {
    const size = Math.ceil(2 + random() * 80);
    for (let index = 0; index < size; index++) times.push(at + random() * 2_500);
  }
  return inOrder(times, lastsMs);
}

/**
 * Agents that fan out: sessions begin by chance and last for minutes; while one lasts, it asks again and again for a few at once, most for one
 * or two, some for dozens. Published of requests of coding assistants: three of four seconds are empty, at most 67 in one.
 */
function fanOut(random: Random, lastsMs: number): readonly number[] {
  const times: number[] = [];
  for (let start = exponential(random, 90_000); start < lastsMs; start += exponential(random, 90_000)) {
    const end = start + exponential(random, 180_000);
    for (let at = start; at < end; at += exponential(random, 12_000)) {
      const size = Math.min(60, Math.ceil(random() ** -0.9));
      for (let index = 0; index < size; index++) times.push(at + random() * 1_000);
    }
  }
  return inOrder(times, lastsMs);
}

function inOrder(times: readonly number[], lastsMs: number): readonly number[] {
  return times.filter((at) => at < lastsMs).sort((one, other) => one - other);
}
