import type { Retry } from "../plan/observed.ts";

export interface RetryPace {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** One more failure: each waits twice as long as the one before. */
export function oneMore(pace: RetryPace, before: Pick<Retry, "failures"> | undefined, message: string, now: number): Retry {
  const failures = (before?.failures ?? 0) + 1;
  return { message, failures, retryAt: now + Math.min(pace.maxMs, pace.firstMs * 2 ** Math.min(failures - 1, 30)) };
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
