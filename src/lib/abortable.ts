/** The promise's outcome, or a rejection with the signal's reason as soon as it is aborted. The promise itself goes on. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/**
 * A controller that is aborted with `parent`, and can be aborted alone. Dispose it when its work is done: a listener
 * left on a long-lived parent for every piece of work would be a leak.
 */
export class ChildAbort implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#parent?.reason);

  constructor(parent: AbortSignal | undefined) {
    this.#parent = parent;
    if (parent?.aborted === true) this.#onAbort();
    else parent?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#parent?.removeEventListener("abort", this.#onAbort);
  }
}
