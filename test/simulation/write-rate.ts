/** Counts the writes of each process (I6): a loop that is woken by its own writes goes round for ever, and the end result is right all the same. */
import type { Write } from "./faulty-client.ts";
import type { Judge } from "./judge.ts";

/** Far more than any process has reason for, in a second of simulated time. */
const mostInASecond = 40;

export class WriteRate {
  readonly #judge: Judge;
  readonly #counts = new Map<string, number>();
  #second = 0;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  see({ process, type, name }: Write, now: number): void {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#counts.clear();
    this.#second = second;
    const what = `${type.kind} ${name}`;
    const count = (this.#counts.get(`${process} ${what}`) ?? 0) + 1;
    this.#counts.set(`${process} ${what}`, count);
    this.#judge.hold("I6", count <= mostInASecond, () => `${process} wrote ${what} ${count} times within a second`);
  }
}
