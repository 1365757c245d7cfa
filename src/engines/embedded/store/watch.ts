import type { WatchEvent, WatchOptions } from "#kube/object-client.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ObjectTable } from "./object-table.ts";
import type { StoreState } from "./store-state.ts";
import { WatchCursor } from "./watch-cursor.ts";

const bookmarkEveryMs = 60_000;

/** The watches that are open, so that they can be counted, and ended with the store. */
export class WatchDesk {
  readonly #open = new Set<{ end(): void }>();

  get watchers(): number {
    return this.#open.size;
  }

  /**
   * Nothing happens before the first event is asked for, so refusals come there too: the table is given as a question.
   * T is the table's kind.
   */
  watch<T extends ApiObject>(state: StoreState, table: () => ObjectTable, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    return { [Symbol.asyncIterator]: () => new WatchStream<T>({ state, table, options, desk: this.#open }) };
  }

  /** Ends every watch, as a server does when it goes down. */
  close(): void {
    for (const stream of this.#open) stream.end();
  }
}

interface StreamOptions {
  readonly state: StoreState;
  readonly table: () => ObjectTable;
  readonly options: WatchOptions;
  readonly desk: Set<{ end(): void }>;
}

/** What a watch has once its first event was asked for. */
interface OpenWatch {
  readonly cursor: WatchCursor;
  readonly table: ObjectTable;
  readonly timers: WatchTimers;
}

type Turn<T extends ApiObject> = PromiseWithResolvers<IteratorResult<WatchEvent<T>, undefined>>;

/**
 * Changes after a version (or: what is there, then changes), until the deadline, the caller's signal or the store's end.
 * A reader that waits gets a change as soon as it is written; one that does not is not written to.
 */
class WatchStream<T extends ApiObject> implements AsyncIterator<WatchEvent<T>, undefined> {
  readonly #given: StreamOptions;
  readonly #waiting: Turn<T>[] = [];
  #open: OpenWatch | undefined;
  #stopListening = (): void => {};
  #ended = false;
  /** What was written before the deadline is still shown after it; what comes later is for the next watch. */
  #until = Number.POSITIVE_INFINITY;

  constructor(given: StreamOptions) {
    this.#given = given;
  }

  next(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    const turn: Turn<T> = Promise.withResolvers();
    this.#waiting.push(turn);
    this.#serve();
    return turn.promise;
  }

  async return(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  end(): void {
    this.#ended = true;
    this.#close();
    this.#serve();
  }

  /** Waiting and later reads fail with the reason. */
  readonly #onAbort = (): void => {
    this.#close();
    this.#serve();
  };

  /** Answers as many waiting reads as there are answers. Never throws: writers call it. */
  readonly #serve = (): void => {
    try {
      while (this.#waiting.length > 0) {
        const event = this.#ended ? "end" : this.#take();
        if (event === undefined) return;
        if (event === "end") this.#close();
        this.#ended ||= event === "end";
        this.#waiting.shift()?.resolve(event === "end" ? { done: true, value: undefined } : { done: false, value: event });
      }
    } catch (error) {
      this.#waiting.shift()?.reject(error);
      this.end();
    }
  };

  /** The next event, or undefined when there is none yet; then `#serve` will be called again. */
  #take(): WatchEvent<T> | "end" | undefined {
    const { state, options } = this.#given;
    options.signal?.throwIfAborted();
    const { cursor, table, timers } = (this.#open ??= this.#start());
    if (timers.deadlinePassed) this.#until = Math.min(this.#until, state.newest);
    const event = cursor.next(this.#until);
    if (event !== undefined && event !== "initial-events-end") return event as WatchEvent<T>; // T is the table's kind.
    const bookmark = { type: "BOOKMARK", resourceVersion: String(cursor.rv) } as const;
    if (timers.deadlinePassed) return timers.takeLastBookmark() ? bookmark : "end";
    if (timers.takeBookmark() || (event === "initial-events-end" && options.bookmarks === true)) return bookmark;
    if (event === "initial-events-end") return this.#take();
    this.#stopListening = table.tail.whenChanged(this.#serve);
    return undefined;
  }

  #start(): OpenWatch {
    const { state, options, desk } = this.#given;
    const table = this.#given.table();
    const cursor = new WatchCursor(state, table, options);
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    desk.add(this);
    return { cursor, table, timers: new WatchTimers(state.clock, options, this.#serve) };
  }

  #close(): void {
    this.#stopListening();
    this.#open?.timers.cancel();
    this.#given.options.signal?.removeEventListener("abort", this.#onAbort);
    this.#given.desk.delete(this);
  }
}

/** The times at which a watch has something to say of its own. */
class WatchTimers {
  readonly #clock: Clock;
  readonly #wake: () => void;
  readonly #deadline: Timer | undefined;
  #bookmarks: Timer | undefined;
  #bookmarkDue = false;
  #lastBookmarkDue: boolean;
  #deadlinePassed = false;

  constructor(clock: Clock, { timeoutSeconds, bookmarks }: WatchOptions, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
    this.#lastBookmarkDue = bookmarks === true;
    if (bookmarks === true) this.#schedule();
    if (timeoutSeconds === undefined || timeoutSeconds <= 0) return;
    this.#deadline = clock.after(timeoutSeconds * 1000, () => {
      this.#deadlinePassed = true;
      this.#wake();
    });
  }

  get deadlinePassed(): boolean {
    return this.#deadlinePassed;
  }

  /** True when a bookmark is due; the next one is a while later. */
  takeBookmark(): boolean {
    if (!this.#bookmarkDue) return false;
    this.#bookmarkDue = false;
    this.#schedule();
    return true;
  }

  /** True once: a watch that ends says where to go on. */
  takeLastBookmark(): boolean {
    const due = this.#lastBookmarkDue;
    this.#lastBookmarkDue = false;
    return due;
  }

  cancel(): void {
    this.#bookmarks?.cancel();
    this.#deadline?.cancel();
  }

  #schedule(): void {
    this.#bookmarks = this.#clock.after(bookmarkEveryMs, () => {
      this.#bookmarkDue = true;
      this.#wake();
    });
  }
}
