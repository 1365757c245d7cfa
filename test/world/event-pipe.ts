/** An endless stream with its other end in a test's hand: what is pushed is read, in order, until it is ended or made to fail. */
export class EventPipe<E> {
  readonly #waiting: E[] = [];
  #end: { readonly error?: Error } | undefined;
  #wake: () => void = () => {};

  push(event: E): void {
    this.#waiting.push(event);
    this.#wake();
  }

  end(): void {
    this.#end ??= {};
    this.#wake();
  }

  fail(error: Error): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** Rejects with the signal's reason when it is aborted. Has one reader. */
  async *read(signal: AbortSignal | undefined): AsyncGenerator<E, void> {
    const onAbort = (): void => this.#wake();
    signal?.addEventListener("abort", onAbort);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const event = this.#waiting.shift();
        if (event !== undefined) yield event;
        else if (this.#end?.error !== undefined) throw this.#end.error;
        else if (this.#end !== undefined) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }
}
