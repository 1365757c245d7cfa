/** How well the parts of the world reach each other at the moment. */
import type { SeededRandom } from "./random.ts";

export type WeatherKind = "calm" | "slow" | "lossy" | "stormy";

export interface Weather {
  /** Of one way, at most. */
  readonly latencyMs: number;
  /** How often a call takes seconds. */
  readonly stuck: number;
  /** How often a call or its answer is lost: the caller does not know if it happened. */
  readonly lost: number;
  /** How often the server answers that it cannot now. */
  readonly refused: number;
  /** Of a watch event, at most. */
  readonly eventLagMs: number;
  /** Of each event: told twice; the connection ends with all that is on its way; nothing comes any more, without a word. */
  readonly doubled: number;
  readonly cut: number;
  readonly silenced: number;
}

export const weathers: Readonly<Record<WeatherKind, Weather>> = {
  calm: { latencyMs: 2, stuck: 0, lost: 0, refused: 0, eventLagMs: 3, doubled: 0, cut: 0, silenced: 0 },
  slow: { latencyMs: 400, stuck: 0.02, lost: 0, refused: 0, eventLagMs: 3000, doubled: 0.1, cut: 0.01, silenced: 0 },
  lossy: { latencyMs: 10, stuck: 0.02, lost: 0.12, refused: 0.05, eventLagMs: 200, doubled: 0.2, cut: 0.08, silenced: 0.01 },
  stormy: { latencyMs: 800, stuck: 0.05, lost: 0.3, refused: 0.15, eventLagMs: 8000, doubled: 0.3, cut: 0.2, silenced: 0.03 },
};

export type Fate = "arrives" | "request-lost" | "answer-lost" | "refused";

/** What becomes of one call. */
export interface Passage {
  readonly fate: Fate;
  readonly requestMs: number;
  readonly answerMs: number;
}

/** After so long without an answer the caller's side gives up. */
export const callTimeoutMs = 20_000;

const stuckMs = 15_000;

export function passage(weather: Weather, random: SeededRandom): Passage {
  const { latencyMs, stuck, lost, refused } = weather;
  const way = (): number => random.between(0, random.chance(stuck) ? stuckMs : latencyMs);
  const fate = random.chance(lost) ? lostWay(random) : random.chance(refused) ? "refused" : "arrives";
  return { fate, requestMs: way(), answerMs: way() };
}

function lostWay(random: SeededRandom): Fate {
  return random.chance(0.5) ? "request-lost" : "answer-lost";
}
