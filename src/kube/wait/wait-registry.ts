/**
 * Wait tasks: a caller waits until an object reaches a state; meanwhile no other caller in this process may ask for another state of it.
 *
 * - `wait-registry.ts`        the waits: one action per object at a time, reference counted, woken by cache events
 * - `wait-task.ts`            one caller's wait: check, hold, double check, deadline, cancel
 * - `wait-error.ts`           the errors of a wait
 * - `verdict.ts`              whether an object has reached a state
 * - `read-model/sandbox-checkers.ts`, `read-model/checkpoint-checker.ts`   pause, resume, ready; checkpoint (pure)
 *
 * There is one registry per kind, so a pod and a checkpoint of one name never meet. The rule holds in one process; between processes
 * the conditional write decides.
 *
 * It follows the wait tasks of openkruise/agents, and differs where that is better for the caller:
 * - a wake-up that finds the state gone again goes on waiting for as long as it has time; theirs ends unsatisfied;
 * - the signal and the timeout are given to `wait`, not captured when the task is made;
 * - a wait without time ends with the same error whether the task was lazy or not, and that error always names its action;
 * - errors are matched by their fields (isWaitError), not by their type alone;
 * - an object that was deleted and made again under its name is gone, not the one that was waited for;
 * - a caller's object that is newer than the cached one is judged instead of it;
 * - a sandbox can be paused while it is not Ready (ADR 10), and a wish that is missing or still there is waited for;
 * - a paused sandbox is out of reach of its end time, as in sandbox/end.ts: pausing is what its end may ask for, and resuming it
 *   sets another. A wait for ready or resumed fails once the sandbox is past its end time and no pause is wanted;
 * - only what never passes is a failed start; theirs knows StartContainerFailed alone;
 * - a checkpoint that the cache lacks is read from the server, as sandboxes are.
 */
import { type Clock } from "#lib/clock.ts";
import type { ObjectKey } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import { type ResourceType, resourceName } from "#model/resource.ts";
import type { Checker } from "./verdict.ts";
import { type WaitAction, WaitError } from "./wait-error.ts";
import { WaitTask } from "./wait-task.ts";

/** Where a wait looks: in the cache, and on the server for what the cache does not have. */
export interface WaitReader<T extends ApiObject> {
  cached(key: ObjectKey): T | undefined;
  live(key: ObjectKey, signal: AbortSignal): Promise<T>;
}

export interface WaitDeps<T extends ApiObject> {
  readonly type: ResourceType<T>;
  readonly reader: WaitReader<T>;
  readonly clock: Clock;
  /** Waits look again after this time without any event. No wait depends on it; it limits the harm of unknown mistakes. */
  readonly recheckMs?: number;
}

/** A share in an object's entry. */
export interface Hold {
  /** Grows with each event that may end the wait. */
  readonly signals: number;
  onSignal(wake: () => void): () => void;
  /** Gives the share back, once. */
  release(): void;
}

export interface HeldObject {
  readonly key: string;
  readonly action: WaitAction;
  readonly holders: number;
}

interface Entry<T extends ApiObject> {
  readonly action: WaitAction;
  /** From the first caller; callers that join have the same action, and so the same checker. */
  readonly check: Checker<T>;
  readonly wakes: Set<() => void>;
  holders: number;
  signals: number;
}

export class WaitRegistry<T extends ApiObject> {
  readonly deps: Required<WaitDeps<T>>;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(deps: WaitDeps<T>) {
    this.deps = { recheckMs: 10_000, ...deps };
  }

  /** A task that holds its object from now on, so that the opposite wait cannot begin while the caller writes. Throws a conflict. */
  acquiredTask(action: WaitAction, object: T, check: Checker<T>): WaitTask<T> {
    return new WaitTask(this, { action, object, check }, this.acquire(action, object, check));
  }

  /** A task that holds its object only while it waits. */
  lazyTask(action: WaitAction, object: T, check: Checker<T>): WaitTask<T> {
    return new WaitTask(this, { action, object, check }, undefined);
  }

  acquire(action: WaitAction, object: T, check: Checker<T>): Hold {
    const key = textKey(object);
    let entry = this.#entries.get(key);
    if (entry !== undefined && entry.action !== action) throw this.#conflict(object, entry.action, action);
    if (entry === undefined) this.#entries.set(key, (entry = { action, check, wakes: new Set(), holders: 0, signals: 0 }));
    entry.holders += 1;
    return this.#hold(key, entry);
  }

  /** A change in the cache: wakes the waits that it may end. Give it to the informer as a handler. */
  readonly onChange = (now: T | undefined, before: T | undefined): void => {
    const object = now ?? before;
    const entry = object === undefined ? undefined : this.#entries.get(textKey(object));
    if (entry === undefined) return;
    if (now !== undefined && entry.check(now, this.deps.clock.now()).kind === "waiting") return;
    entry.signals += 1;
    for (const wake of entry.wakes) wake();
  };

  /** The objects that are held now and by which action, for tests and for people that look for a cause. */
  held(): readonly HeldObject[] {
    return [...this.#entries].map(([key, { action, holders }]) => ({ key, action, holders }));
  }

  nameOf(object: T): string {
    return `${resourceName(this.deps.type)} ${textKey(object)}`;
  }

  #hold(key: string, entry: Entry<T>): Hold {
    let released = false;
    return {
      get signals() {
        return entry.signals;
      },
      onSignal: (wake) => {
        entry.wakes.add(wake);
        return () => entry.wakes.delete(wake);
      },
      release: () => {
        if (released) return;
        released = true;
        entry.holders -= 1;
        if (entry.holders === 0) this.#entries.delete(key);
      },
    };
  }

  #conflict(object: T, existing: WaitAction, requested: WaitAction): WaitError {
    const name = this.nameOf(object);
    const message = `${requested} of ${name} is not possible now: ${existing} of it is under way`;
    return new WaitError(name, { code: "conflict", existing, requested }, { message });
  }
}

function textKey({ metadata }: ApiObject): string {
  return metadata.namespace === undefined ? (metadata.name ?? "") : `${metadata.namespace}/${metadata.name ?? ""}`;
}
