/**
 * Answers of registries, kept for a while: pools ask often and for the same few images. Refusals are kept for a shorter time. Callers that
 * ask at the same time share one request.
 */
import { abortable } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import { type ImageError, isImageError } from "./image-error.ts";

export interface KeptAnswersDeps {
  readonly clock: Clock;
  /** How long an answer counts. */
  readonly ttlMs: number;
  /** How long it counts that there is no such image, or no access to it. */
  readonly refusedTtlMs?: number | undefined;
  /** How long it counts that the registry could not be asked. */
  readonly failedTtlMs?: number | undefined;
}

type Outcome<T> = { readonly answer: T } | { readonly error: ImageError };

interface Flight<T> {
  readonly outcome: Promise<T>;
  readonly abort: AbortController;
  waiting: number;
}

const maxKept = 1000;
/** A registry that says more is asked again after this. */
const longestRetryMs = 3_600_000;

export class KeptAnswers<T> {
  readonly #deps: KeptAnswersDeps;
  readonly #kept = new Map<string, { readonly outcome: Outcome<T>; readonly until: number }>();
  readonly #flights = new Map<string, Flight<T>>();

  constructor(deps: KeptAnswersDeps) {
    this.#deps = deps;
  }

  /** `key` must tell apart what may have different answers. */
  async get(key: string, ask: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > this.#deps.clock.now()) {
      if ("error" in kept.outcome) throw kept.outcome.error;
      return kept.outcome.answer;
    }
    signal?.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, ask);
    flight.waiting++;
    try {
      return await abortable(flight.outcome, signal);
    } finally {
      // The request is ended when its last caller leaves; a caller that leaves earlier does not end it for the others.
      if (--flight.waiting === 0) this.#end(key, flight);
    }
  }

  #start(key: string, ask: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const abort = new AbortController();
    const outcome = ask(abort.signal).then(
      (answer) => {
        this.#keep(key, { answer }, this.#deps.ttlMs);
        return answer;
      },
      (error: unknown) => {
        if (isImageError(error)) this.#keep(key, { error }, this.#negativeTtl(error));
        throw error;
      },
    );
    // Everyone may have left before it fails.
    outcome.catch(() => undefined);
    const flight = { outcome, abort, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  /** The request is answered or given up: the next caller starts another one. */
  #end(key: string, flight: Flight<T>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.abort.abort(new Error("no caller waits for the answer any more"));
  }

  #negativeTtl(error: ImageError): number {
    const { failedTtlMs = 5_000, refusedTtlMs = 30_000 } = this.#deps;
    if (error.code === "rate_limited") return Math.min(Math.max(error.retryAfterMs ?? 0, refusedTtlMs), longestRetryMs);
    return error.code === "unreachable" || error.code === "registry_failed" || error.code === "tls" ? failedTtlMs : refusedTtlMs;
  }

  #keep(key: string, outcome: Outcome<T>, ttlMs: number): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= maxKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.delete(key);
    this.#kept.set(key, { outcome, until: this.#deps.clock.now() + ttlMs });
  }
}
