/** How others size pools, written from what their projects and papers publish; and an oracle. */
import { type Load, type PoolSight, type SizingPolicy, tickMs } from "./simulate.ts";

export function plain(lookEveryMs: number, wanted: (sight: PoolSight) => number): SizingPolicy {
  return { lookEveryMs, arrived: () => {}, wanted };
}

export function fixedStock(pods: number): SizingPolicy {
  return plain(30_000, () => pods);
}

/** Agones, absolute: so many beside those in use. */
export function buffer(spare: number): SizingPolicy {
  return plain(30_000, ({ claimed }) => claimed + spare);
}

/** Agones, percentage: this share of all is to be free. Never none at all, or it could not begin. */
export function percentBuffer(percent: number): SizingPolicy {
  return plain(30_000, ({ claimed }) => Math.max(1, Math.ceil((100 * claimed) / (100 - percent))));
}

/** Knative's stable and panic windows over what is in use, looked at every two seconds; `use`: share of a pod that is to be in use. */
export function knative(use: number, scaleToZero = false): SizingPolicy {
  let samples: { readonly at: number; readonly busy: number }[] = [];
  let [panicUntil, panicMost] = [0, 0];
  const mean = (now: number, ms: number): number => {
    const late = samples.filter(({ at }) => at > now - ms);
    return late.reduce((sum, { busy }) => sum + busy, 0) / Math.max(1, late.length);
  };
  return plain(2_000, ({ nowMs, claimed, waiting, idle }) => {
    samples = [...samples.filter(({ at }) => at > nowMs - 60_000), { at: nowMs, busy: claimed + waiting }];
    const ready = Math.max(1, idle + claimed);
    const within = (wanted: number): number => Math.min(Math.max(wanted, Math.floor(ready / 2)), 1000 * ready);
    const [stable, panic] = [within(Math.ceil(mean(nowMs, 60_000) / use)), within(Math.ceil(mean(nowMs, 6_000) / use))];
    if (panic / ready >= 2) panicUntil = nowMs + 60_000;
    panicMost = nowMs < panicUntil ? Math.max(panicMost, panic, stable) : 0;
    return Math.max(scaleToZero ? 0 : 1, stable, panicMost);
  });
}

const binMs = 60_000;
const bins = 240;

/**
 * Shahrad's hybrid histogram of idle times, in minutes up to four hours: warm from the 5th to the 99th percentile after the last arrival, with 10 % margin.
 * Fixed keep-alive while there is too little to go by. `spare` pods are warm each time.
 */
export function hybridHistogram(spare: number, keepMs = 600_000): SizingPolicy {
  const gaps = Array.from({ length: bins }, () => 0);
  let [last, count, beyond] = [-Infinity, 0, 0];
  let warm: { readonly from: number; readonly to: number } | undefined;
  const percentile = (share: number): number => {
    let sum = 0;
    return gaps.findIndex((gap) => (sum += gap) >= share * count);
  };
  const window = (): { readonly from: number; readonly to: number } => {
    const isRepresentative = count >= 10 && spreadOf(gaps) > 2 && beyond < count;
    if (!isRepresentative) return { from: 0, to: keepMs };
    return { from: percentile(0.05) * binMs * 0.9, to: (percentile(0.99) + 1) * binMs * 1.1 };
  };
  return {
    lookEveryMs: 10_000,
    arrived: (now) => {
      const bin = Math.floor((now - last) / binMs);
      if (bin < bins) {
        gaps[bin] = (gaps[bin] ?? 0) + 1;
        count += 1;
      } else if (last > -Infinity) beyond += 1;
      last = now;
      warm = undefined;
    },
    wanted: ({ nowMs, claimed }) => {
      const { from, to } = (warm ??= window());
      return claimed + (nowMs - last >= from && nowMs - last <= to ? spare : 0);
    },
  };
}

/** Coefficient of variation of the counts: high where most gaps fall into a few bins. */
function spreadOf(counts: readonly number[]): number {
  const mean = counts.reduce((sum, one) => sum + one, 0) / counts.length;
  return Math.sqrt(counts.reduce((sum, one) => sum + (one - mean) ** 2, 0) / counts.length) / mean;
}

/** Knows what comes: orders each pod so that it is ready just in time. Nothing that decides at the same pace can miss less or be idle less. */
export function oracle({ arrivals, refillMs }: Load): SizingPolicy {
  let [from, to] = [0, 0];
  return plain(tickMs, ({ nowMs, claimed }) => {
    while ((arrivals[from] ?? Infinity) <= nowMs) from += 1;
    while ((arrivals[to] ?? Infinity) <= nowMs + refillMs + tickMs) to += 1;
    return claimed + to - from;
  });
}
