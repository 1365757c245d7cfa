/** A machine that has calmed down: what was started before the measurement is not what is measured. */
import { availableParallelism, cpus } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { sum } from "./process-time.ts";

const sampleMs = 1_000;

/** Of all processors together, since the machine started. */
export function busyMs(): number {
  return sum(cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq));
}

/** Resolves when so many seconds in a row had at most this share of the processors busy, or when the patience is over. */
export async function quietMachine({ share = 0.2, seconds = 3, patienceMs = 120_000 } = {}): Promise<void> {
  const until = performance.now() + patienceMs;
  for (let quiet = 0; quiet < seconds && performance.now() < until;) {
    const [before, began] = [busyMs(), performance.now()];
    await sleep(sampleMs);
    const used = (busyMs() - before) / (performance.now() - began) / availableParallelism();
    quiet = used <= share ? quiet + 1 : 0;
  }
}
