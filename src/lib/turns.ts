/**
 * Lets requests pass between the pieces of large work. Promises that settle run before anything else that a process has to do, so work whose
 * calls are answered at once, as by the embedded store, would keep a server from its requests until the last piece is done.
 */

/** Work that takes longer than that in one turn of the event loop goes on in the next one. All work of a process shares it. */
const budgetMs = 4;

export class Turns {
  readonly #now: () => number;
  readonly #nextTurn: (run: () => void) => void;
  #since: number | undefined;
  readonly #waiting: (() => void)[] = [];

  constructor(now: () => number = () => performance.now(), nextTurn: (run: () => void) => void = (run) => void setImmediate(run)) {
    this.#now = now;
    this.#nextTurn = nextTurn;
  }

  /** To be awaited before each piece. Undefined when it may begin at once; else resolved in a later turn, in the order of asking. */
  next(): Promise<void> | undefined {
    if (this.#since === undefined) {
      this.#since = this.#now();
      this.#nextTurn(() => this.#begin());
    }
    if (this.#waiting.length === 0 && this.#now() - this.#since < budgetMs) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** One after the other, as the last one's piece is only known to have taken its time when it has run. */
  #begin(): void {
    this.#since = undefined;
    const first = this.#waiting.shift();
    if (first === undefined) return;
    this.#since = this.#now();
    this.#nextTurn(() => this.#begin());
    first();
    queueMicrotask(() => this.#more());
  }

  #more(): void {
    if (this.#since === undefined || this.#now() - this.#since >= budgetMs) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    next();
    queueMicrotask(() => this.#more());
  }
}

/** Of this process. */
export const processTurns = new Turns();
