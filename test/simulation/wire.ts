/** The way of a call from a process to whatever answers it, and back. */
import type { Clock } from "#lib/clock.ts";
import type { Process } from "./process.ts";
import type { SeededRandom } from "./random.ts";
import { callTimeoutMs, type Passage, passage, type Weather } from "./weather.ts";

export interface WireDeps {
  readonly process: Process;
  /** The world's: what is on its way does not care how its sender's clock goes. */
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly weather: () => Weather;
  /** Connections that carry nothing any more, of which the process does not know yet. */
  readonly silences: Set<object>;
}

/** How the far end says that it did not work. */
export interface WireErrors {
  readonly unreachable: () => Error;
  readonly refused: () => Error;
}

export interface Call<T> {
  readonly apply: () => Promise<T>;
  readonly signal?: AbortSignal | undefined;
  /** Told what became of it, before the caller is. */
  readonly onFate?: (fate: Passage["fate"]) => void;
}

/** Carries calls. One that is aborted is only given up by its caller: what was sent still arrives. */
export class Wire {
  readonly #deps: WireDeps;
  readonly #errors: WireErrors;

  constructor(deps: WireDeps, errors: WireErrors) {
    this.#deps = deps;
    this.#errors = errors;
  }

  send<T>({ apply, signal, onFate }: Call<T>): Promise<T> {
    const { process, clock, random, weather } = this.#deps;
    return new Promise<T>((resolve, reject) => {
      if (process.isDead) return;
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => reject(signal?.reason as Error);
      signal?.addEventListener("abort", onAbort, { once: true });
      const answer = (run: () => void): void =>
        process.deliver(() => {
          signal?.removeEventListener("abort", onAbort);
          run();
        });
      const way = passage(weather(), random);
      onFate?.(way.fate);
      const later = (ms: number, run: () => void): void => {
        if (ms === 0) run();
        else clock.after(ms, run);
      };
      later(way.requestMs, () => {
        if (way.fate === "request-lost") {
          clock.after(random.between(0, callTimeoutMs), () => answer(() => reject(this.#errors.unreachable())));
        } else if (way.fate === "refused") {
          later(way.answerMs, () => answer(() => reject(this.#errors.refused())));
        } else {
          const tell = (told: Outcome<T>): void =>
            later(way.answerMs, () => answer(() => ("error" in told ? reject(told.error) : resolve(told.value))));
          void outcomeOf(apply).then((outcome) => tell(way.fate === "answer-lost" ? { error: this.#errors.unreachable() } : outcome));
        }
      });
    });
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

async function outcomeOf<T>(apply: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await apply() };
  } catch (error) {
    return { error };
  }
}
