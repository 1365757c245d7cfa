/** Answers by request id: a client that repeats a request after a broken connection gets the first answer, also if that request still runs. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

interface Entry {
  readonly reply: Promise<Reply>;
  size: number | undefined;
}

/** A client asks again within seconds; these are limits for what is kept meanwhile. */
const [mostKept, mostBytes] = [1000, 32 * 1024 * 1024];

export class Once {
  readonly #replies = new Map<string, Entry>();
  /** The size of finished replies; those that still run have none yet. */
  #bytes = 0;

  answer(id: string | undefined, make: () => Promise<Reply>): Promise<Reply> {
    if (id === undefined || id === "") return make();
    const known = this.#replies.get(id);
    if (known !== undefined) return known.reply;
    const entry: Entry = { reply: make(), size: undefined };
    this.#replies.set(id, entry);
    void entry.reply.then(
      ({ body }) => this.#keep(entry, body.length),
      // Nothing was answered, so nothing can be repeated.
      () => this.#replies.delete(id),
    );
    return entry.reply;
  }

  #keep(entry: Entry, size: number): void {
    entry.size = size;
    this.#bytes += size;
    for (const [id, oldest] of this.#replies) {
      if (this.#bytes <= mostBytes && this.#replies.size <= mostKept) return;
      // What still runs must not be run a second time.
      if (oldest.size === undefined) continue;
      this.#bytes -= oldest.size;
      this.#replies.delete(id);
    }
  }
}
