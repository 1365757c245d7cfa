/** Answers by request id: a client that asks again after a broken connection gets the answer of the first time, also while that still runs. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** A client asks again within seconds; these are limits for what is kept meanwhile. */
const [mostKept, mostBytes] = [1000, 32 * 1024 * 1024];

export class Once {
  readonly #replies = new Map<string, { readonly reply: Promise<Reply>; size: number }>();
  #bytes = 0;

  answer(id: string | undefined, make: () => Promise<Reply>): Promise<Reply> {
    if (id === undefined || id === "") return make();
    const known = this.#replies.get(id);
    if (known !== undefined) return known.reply;
    const entry = { reply: make(), size: 0 };
    this.#replies.set(id, entry);
    void entry.reply.then(
      ({ body }) => this.#keep(entry, body.length),
      // Nothing was answered, so nothing can be repeated.
      () => this.#replies.delete(id),
    );
    return entry.reply;
  }

  #keep(entry: { size: number }, size: number): void {
    entry.size = size;
    this.#bytes += size;
    for (const [id, oldest] of this.#replies) {
      if (this.#bytes <= mostBytes && this.#replies.size <= mostKept) return;
      this.#bytes -= oldest.size;
      this.#replies.delete(id);
    }
  }
}
