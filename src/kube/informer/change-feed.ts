import type { ApiObject } from "#model/meta.ts";
import type { Change } from "./versioned-cache.ts";

/**
 * Told of every change: `now` is undefined when the object is gone, `before` when it is new. Runs in the turn in which the
 * cache changed, so it must be short: note the key, wake a waiter. An error is reported and does not stop the other handlers.
 */
export type ChangeHandler<T extends ApiObject> = (now: T | undefined, before: T | undefined) => void;

interface Subscriber<T extends ApiObject> {
  readonly handler: ChangeHandler<T>;
  /** Changes up to this number were part of what it was shown when it came. */
  readonly from: number;
}

/**
 * Hands changes to handlers, in order. A handler may cause further changes (by remembering a write) or bring in and
 * remove handlers; everyone still gets every change once and in the same order.
 */
export class ChangeFeed<T extends ApiObject> {
  readonly #subscribers = new Set<Subscriber<T>>();
  readonly #report: (error: unknown) => void;
  #waiting: Change<T>[] = [];
  #published = 0;
  #delivering = false;

  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  /** Shows the handler the present objects at once, then every change. Returns how to remove it. */
  subscribe(handler: ChangeHandler<T>, present: Iterable<T>): () => void {
    const subscriber: Subscriber<T> = { handler, from: this.#published };
    const shown = [...present];
    this.#subscribers.add(subscriber);
    this.#oneAtATime(() => {
      for (const object of shown) this.#call(handler, { now: object, before: undefined });
    });
    return () => this.#subscribers.delete(subscriber);
  }

  publish(changes: readonly Change<T>[]): void {
    for (const change of changes) this.#waiting.push(change);
    this.#published += changes.length;
    this.#oneAtATime(() => {});
  }

  /** Does `first`, then delivers what waits. Called from inside a handler, delivering is left to the call further down the stack. */
  #oneAtATime(first: () => void): void {
    const outermost = !this.#delivering;
    this.#delivering = true;
    first();
    if (!outermost) return;
    let number = this.#published - this.#waiting.length;
    for (const change of this.#waiting) this.#deliver(change, (number += 1));
    this.#waiting = [];
    this.#delivering = false;
  }

  #deliver(change: Change<T>, number: number): void {
    for (const { handler, from } of this.#subscribers) {
      if (number > from) this.#call(handler, change);
    }
  }

  #call(handler: ChangeHandler<T>, change: Change<T>): void {
    try {
      handler(change.now, change.before);
    } catch (error) {
      this.#report(error);
    }
  }
}
