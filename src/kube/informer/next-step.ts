import { isApiError } from "#kube/api-error.ts";
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";

/** How a list or a watch ended. `held`: the connection had lasted, so what ended it is news and not a repetition. */
export type Outcome =
  | { readonly kind: "listed" }
  /** The list took so long that its own later pages were forgotten. */
  | { readonly kind: "list-expired" }
  /** The server ended the watch, as servers do: at its time, or because we were slow. */
  | { readonly kind: "ended"; readonly held: boolean }
  /** Nothing came for too long. */
  | { readonly kind: "starved" }
  /** The server cannot go on from our version. */
  | { readonly kind: "expired"; readonly held: boolean }
  | { readonly kind: "failed"; readonly held: boolean; readonly error: unknown };

export interface Step {
  readonly next: "list" | "list-unpaged" | "watch";
  readonly pauseMs: number;
  /** Attempts in a row of which none held. */
  readonly failures: number;
}

export interface Retries {
  readonly backoff: Backoff;
}

export const firstStep: Step = { next: "list", pauseMs: 0, failures: 0 };

/**
 * What to do next, and when. Only a connection that held resets the back-off: a server that accepts and drops us, or that
 * answers lists and refuses watches, is not asked faster and faster. A starved watch has cost its time already.
 */
export function nextStep(last: Step, outcome: Outcome, { backoff }: Retries, random: Random): Step {
  const pause = (next: Step["next"], failures: number, atLeastMs = 0): Step => {
    return { next, failures, pauseMs: Math.max(atLeastMs, backoffMs(backoff, failures, random)) };
  };
  if (outcome.kind === "listed" || outcome.kind === "starved") return { next: "watch", pauseMs: 0, failures: last.failures };
  if (outcome.kind === "list-expired") return pause("list-unpaged", last.failures + 1);
  if (outcome.kind === "ended") return outcome.held ? { next: "watch", pauseMs: 0, failures: 0 } : pause("watch", last.failures + 1);
  if (outcome.kind === "expired") return outcome.held ? { next: "list", pauseMs: 0, failures: 0 } : pause("list", last.failures + 1);
  return pause(last.next, outcome.held ? 1 : last.failures + 1, askedDelay(outcome.error));
}

function askedDelay(error: unknown): number {
  return isApiError(error) ? (error.retryAfterMs ?? 0) : 0;
}
