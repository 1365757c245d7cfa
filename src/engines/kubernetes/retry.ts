/** Whether and when a failed request is tried again. */
import { isApiError, type ApiError } from "#kube/api-error.ts";
import { backoffMs, type Random } from "#lib/backoff.ts";
import { sleep, type Clock } from "#lib/clock.ts";
import { neverSent } from "./status-error.ts";

export interface RetryPolicy {
  /** Including the first. */
  readonly maxTries: number;
  /** A server that asks for a longer pause than this is not waited for; its wish goes to the caller with the error. */
  readonly maxWaitMs: number;
}

export const defaultRetryPolicy: RetryPolicy = { maxTries: 5, maxWaitMs: 30_000 };

/** Growing pauses for failures that name none. */
const pauses = { baseMs: 100, maxMs: 5000, jitter: "equal" } as const;

export interface RetryTools {
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Runs `attempt` until it succeeds or fails for good. A read may always be repeated; a write only when the server
 * surely did not process it, for a repeated create or patch would answer with its own doing.
 */
export async function withRetries<T>(tools: RetryTools, readOnly: boolean, attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isApiError(error)) throw error;
      const waitMs = retryDelay(error, readOnly, tries, tools);
      if (waitMs === undefined) throw error;
      await sleep(tools.clock, waitMs, signal);
    }
  }
}

/** How long to wait before the next try; undefined when there is to be none. */
export function retryDelay(
  error: ApiError,
  readOnly: boolean,
  tries: number,
  { policy, random }: Omit<RetryTools, "clock">,
): number | undefined {
  if (tries >= policy.maxTries || !mayRepeat(error, readOnly)) return undefined;
  if (error.retryAfterMs === undefined) return backoffMs(pauses, tries, random);
  // Never earlier than asked, and not all at the same moment.
  return error.retryAfterMs > policy.maxWaitMs ? undefined : Math.ceil(error.retryAfterMs * (1 + random() / 4));
}

function mayRepeat(error: ApiError, readOnly: boolean): boolean {
  if (error.reason === "TooManyRequests" || neverSent(error)) return true;
  if (!readOnly) return false;
  if (error.reason === "ServiceUnavailable" || error.reason === "Unreachable") return true;
  return error.code >= 500 && error.retryAfterMs !== undefined;
}
