/** What happened in a run, in order, in words: what a failing seed is understood by. */
import type { Clock } from "#lib/clock.ts";

export class Trace {
  readonly #clock: Clock;
  readonly #start: number;
  readonly #lines: string[] = [];
  readonly #names = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#start = clock.now();
  }

  add(who: string, what: string): void {
    const seconds = ((this.#clock.now() - this.#start) / 1000).toFixed(3);
    this.#lines.push(`${seconds.padStart(10)}  ${who.padEnd(9)} ${what}`);
  }

  /** Ids are random and long. In the trace they have names, which are the same in every run of a seed. */
  name(id: string, short: string): void {
    if (!this.#names.has(id)) this.#names.set(id, short);
  }

  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }

  text(): string {
    return this.inNames(this.#lines.join("\n"));
  }

  inNames(text: string): string {
    let named = text;
    for (const [id, short] of this.#names) named = named.replaceAll(id, short);
    // Names of sandboxes without a pod, and of events, which contain uids.
    return named.replaceAll(/sandboxId="[a-z0-9]{20,}"/g, 'sandboxId="none"').replaceAll(/ event="[^"]*"/g, "");
  }
}
