/** What clients were told, against which the server is held after every crash. */
export interface Acknowledged {
  readonly name: string;
  readonly value: number;
  readonly version: number;
}

export class Journal {
  readonly #written: Acknowledged[] = [];
  readonly #newest = new Map<string, Acknowledged>();
  readonly #byVersion = new Map<number, string>();
  readonly problems: string[] = [];
  #awaited: { readonly writes: number; readonly tell: () => void } | undefined;

  /** A write that the server acknowledged. */
  acknowledged(write: Acknowledged): void {
    this.#written.push(write);
    if (this.#awaited !== undefined && this.#written.length >= this.#awaited.writes) this.#awaited.tell();
    this.#newest.set(write.name, write);
    this.#seen(write, "acknowledged");
  }

  /** A version stands for one state of one object for ever, in every report. */
  #seen({ name, value, version }: Acknowledged, by: string): void {
    const what = `${name}=${value}`;
    const before = this.#byVersion.get(version);
    if (before !== undefined && before !== what) this.problems.push(`version ${version} was ${before} and is ${what} (${by})`);
    this.#byVersion.set(version, what);
  }

  /** Resolves when so many more writes have been acknowledged. */
  async more(count: number): Promise<void> {
    const writes = this.#written.length + count;
    await new Promise<void>((tell) => (this.#awaited = { writes, tell }));
  }

  get writes(): number {
    return this.#written.length;
  }

  /** Holds the state after a restart against what was acknowledged. A write in flight at the crash may or may not be there. */
  compare(present: readonly Acknowledged[]): void {
    const found = new Map(present.map((one) => [one.name, one]));
    for (const wanted of this.#newest.values()) {
      const has = found.get(wanted.name);
      if (has === undefined) this.problems.push(`${wanted.name} is gone, ${wanted.value} was acknowledged`);
      else if (has.value < wanted.value) this.problems.push(`${wanted.name} is ${has.value}, ${wanted.value} was acknowledged`);
    }
    for (const one of present) this.#seen(one, "listed");
  }

  /** Holds what a watcher saw over all restarts against the acknowledged writes: all of them, in order, none twice. */
  compareWatch(events: readonly Acknowledged[]): void {
    let last = 0;
    const seen = new Map<number, Acknowledged>();
    for (const event of events) {
      if (event.version <= last) this.problems.push(`a watcher saw version ${event.version} after ${last}`);
      last = event.version;
      seen.set(event.version, event);
      this.#seen(event, "watched");
    }
    for (const { version, name, value } of this.#written) {
      if (!seen.has(version)) this.problems.push(`a watcher missed ${name}=${value} at version ${version}`);
    }
  }
}
