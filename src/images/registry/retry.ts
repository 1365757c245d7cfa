/** Trying again what may go better then. */
import { backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import { isWorthRetrying } from "./failure.ts";

export interface RetryDeps {
  readonly clock: Clock;
  readonly random: Random;
}

const backoff = { baseMs: 250, maxMs: 10_000, jitter: "equal" } as const;
/** When a registry asks for a longer wait than this, the request fails with its error instead of waiting. */
const longestWaitMs = 30_000;

/** Runs `attempt` up to `tries` times, with growing pauses, or those that the registry asks for. */
export async function withRetries<T>(deps: RetryDeps, tries: number, attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (failures >= tries) throw error;
      await pauseAfter(deps, error, failures, signal);
    }
  }
}

/** Waits before the next try, or throws the error if there should be none. */
export async function pauseAfter(deps: RetryDeps, error: unknown, failures: number, signal?: AbortSignal): Promise<void> {
  if (!isWorthRetrying(error) || (error.retryAfterMs ?? 0) > longestWaitMs) throw error;
  await sleep(deps.clock, Math.max(error.retryAfterMs ?? 0, backoffMs(backoff, failures, deps.random)), signal);
}
