import { Lanes, type Place } from "#lib/lanes.ts";
import type { Clock } from "#lib/clock.ts";

/** A command takes well below a second; ten times what the slowest machines need. */
const usualMs = 30_000;

export interface CommandTerms {
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** What it takes while it runs; waiting for them counts as running. */
  readonly places?: readonly Place[];
}

/**
 * The commands of OCI runtimes that are under way. A sandbox can hold such a command up: it may stop the runtime's process that is about to
 * become a command in it, or starve it. So each command ends by a deadline, and all of them when the node closes.
 */
export class RuntimeCommands {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #closing = new AbortController();
  readonly #waiting = new Map<string, { readonly places: readonly Place[]; readonly enter: () => void }>();
  readonly #lanes = new Lanes((id) => this.#waiting.get(id)?.places ?? []);
  #lastId = 0;

  constructor(clock: Clock, limitMs = usualMs) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** `work` ends what it runs when the signal that it gets is aborted: by the deadline, by the node's end or by the caller. */
  async run<T>(what: string, work: (signal: AbortSignal) => Promise<T>, { signal: caller, places = [] }: CommandTerms = {}): Promise<T> {
    const deadline = new AbortController();
    const timer = this.#clock.after(this.#limitMs, () => deadline.abort(new Error(this.#lateText(what))));
    const signal = AbortSignal.any([deadline.signal, this.#closing.signal, ...(caller === undefined ? [] : [caller])]);
    try {
      signal.throwIfAborted();
      await this.#enter(places, signal);
      try {
        signal.throwIfAborted();
        return await work(signal);
      } finally {
        this.#lanes.giveBack(places);
        this.#admit();
      }
    } finally {
      timer.cancel();
    }
  }

  #lateText(what: string): string {
    return `${what} did not end within ${this.#limitMs / 1000} s and was killed: something in the container holds it up`;
  }

  /** Waits for the places. */
  #enter(places: readonly Place[], signal: AbortSignal): Promise<void> {
    const id = String(this.#lastId++);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#lanes.remove(id);
        this.#waiting.delete(id);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        this.#waiting.delete(id);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.set(id, { places, enter });
      this.#lanes.add(id, 0);
      this.#admit();
    });
  }

  #admit(): void {
    for (let next = this.#lanes.next(); next !== undefined; next = this.#lanes.next()) this.#waiting.get(next.key)?.enter();
  }

  /** Kills what is under way; nothing can be run any more. */
  end(): void {
    this.#closing.abort(new Error("the node closes"));
  }
}
