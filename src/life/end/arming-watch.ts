/**
 * Whether a claimed sandbox was armed, as its daemon says. Asked when the startup timeout is over, because a process that dies between
 * claim and arming leaves nothing else behind; and once only, because what is armed stays so until its container goes.
 *
 * A daemon that does not answer is asked again, more and more seldom. That alone ends nothing: it may be busy, or cut off from us.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";
import { type AskDaemonDeps, askServedSandbox } from "#life/arm/ask-daemon.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";

export interface ArmingWatchDeps extends AskDaemonDeps {
  readonly random: Random;
}

export type Arming =
  | { readonly kind: "armed" }
  /** Its daemon is not armed, or is armed for another sandbox. */
  | { readonly kind: "not-armed" }
  /** No answer since then; it is asked again at `askAtMs`. */
  | { readonly kind: "silent"; readonly sinceMs: number; readonly askAtMs: number }
  | { readonly kind: "not-asked"; readonly askAtMs: number };

/** When a sandbox is to have been armed. */
export interface Due {
  readonly dueMs: number;
  /** By what is told on its pod: long over for those that were there before us. */
  readonly toldMs: number;
}

interface Asked {
  readonly life: string;
  readonly armed: boolean;
  readonly askAtMs: number;
  readonly failures: number;
  readonly silentSinceMs?: number;
}

const askAgain: Backoff = { baseMs: 1_000, maxMs: 60_000, jitter: "equal" };
/** A process that sees a claim so late was not running when the time was over: it has just started, and finds many such claims at once. */
const lateMs = 5_000;
const spreadMs = 60_000;

export class ArmingWatch {
  readonly #deps: ArmingWatchDeps;
  readonly #asked = new Map<string, Asked>();

  constructor(deps: ArmingWatchDeps) {
    this.#deps = deps;
  }

  /** Asks the daemon if it is time to, and it has not said yet that it is armed. */
  async check(pod: Pod, due: Due, signal: AbortSignal): Promise<Arming> {
    const now = this.#deps.clock.now();
    const known = this.#known(pod) ?? this.#first(pod, due, now);
    if (known.armed) return { kind: "armed" };
    // The clock may have been set since it was noted when to ask.
    if (now < due.dueMs) return { kind: "not-asked", askAtMs: Math.max(known.askAtMs, due.dueMs) };
    if (now < known.askAtMs) return waiting(known);
    return this.ask(pod, signal);
  }

  /** Asks now, whatever was said about when. */
  async ask(pod: Pod, signal: AbortSignal): Promise<Arming> {
    const { clock, random } = this.#deps;
    const answer = await askServedSandbox(this.#deps, pod, signal);
    const now = clock.now();
    const { failures = 0, silentSinceMs = now } = this.#known(pod) ?? {};
    if (answer !== undefined) {
      const armed = answer === sandboxIdOf(pod);
      this.#keep(pod, { armed, askAtMs: now, failures: 0 });
      return { kind: armed ? "armed" : "not-armed" };
    }
    const askAtMs = now + backoffMs(askAgain, failures + 1, random);
    this.#keep(pod, { armed: false, askAtMs, failures: failures + 1, silentSinceMs });
    return { kind: "silent", sinceMs: silentSinceMs, askAtMs };
  }

  forget(key: Key): void {
    this.#asked.delete(formatKey(key));
  }

  /** After a start of ours every running sandbox is overdue: they are asked over a while, not at once. */
  #first(pod: Pod, { dueMs, toldMs }: Due, now: number): Omit<Asked, "life"> {
    const askAtMs = now > toldMs + lateMs ? Math.max(now, dueMs) + Math.floor(this.#deps.random() * spreadMs) : dueMs;
    const first = { armed: false, askAtMs, failures: 0 };
    this.#keep(pod, first);
    return first;
  }

  #known(pod: Pod): Asked | undefined {
    const known = this.#asked.get(formatKey(keyOf(pod)));
    return known?.life === lifeOf(pod) ? known : undefined;
  }

  #keep(pod: Pod, asked: Omit<Asked, "life">): void {
    this.#asked.set(formatKey(keyOf(pod)), { life: lifeOf(pod), ...asked });
  }
}

function waiting({ askAtMs, silentSinceMs }: Omit<Asked, "life">): Arming {
  return silentSinceMs === undefined ? { kind: "not-asked", askAtMs } : { kind: "silent", sinceMs: silentSinceMs, askAtMs };
}

function lifeOf(pod: Pod): string {
  return `${pod.metadata.uid ?? ""}/${sandboxIdOf(pod) ?? ""}`;
}

function keyOf({ metadata: { namespace, name = "" } }: Pod): Key {
  return { namespace, name };
}
