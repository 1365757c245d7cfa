/** Progress for the person at the terminal: one line per step, and a further line when a step takes long. */

export type Say = (line: string) => void;

const everyMs = 5000;

/** Does a step and says how long it took, if that is worth saying. */
export async function step<T>(say: Say, what: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const seconds = (): string => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  say(`  ${what} …`);
  const alive = setInterval(() => say(`  ${what} … ${seconds()}`), everyMs);
  try {
    const result = await work();
    if (performance.now() - began > 1000) say(`  ${what}: ${seconds()}`);
    return result;
  } finally {
    clearInterval(alive);
  }
}

/** Looks again until `ready`. `dead` says why it will never be. */
export async function waitUntil(what: string, ready: () => Promise<boolean>, dead: () => string | undefined): Promise<void> {
  const giveUpAt = Date.now() + patienceMs;
  while (!(await ready())) {
    const reason = dead();
    if (reason !== undefined) throw new Error(`waiting for ${what}: ${reason}`);
    if (Date.now() > giveUpAt) throw new Error(`${what} did not happen within ${patienceMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const patienceMs = 120_000;
