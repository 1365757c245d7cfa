/** How many requests and upgraded connections may be open at a time: of one sandbox, so that its traffic does not disturb the others, and of all. */
export interface OpenLimits {
  readonly perSandbox: number;
  readonly total: number;
  /** Of all sandboxes of a team; no such limit when left out. */
  readonly teams?: OpenOfTeams | undefined;
}

export class OpenOfTeams {
  readonly #most: (team: string) => number | undefined;
  readonly #open = new Map<string, number>();

  /** `most`: undefined for a team without a limit. */
  constructor(most: (team: string) => number | undefined) {
    this.#most = most;
  }

  /** The limit, when it is reached. */
  reached(team: string): number | undefined {
    const most = team === "" ? undefined : this.#most(team);
    return most !== undefined && (this.#open.get(team) ?? 0) >= most ? most : undefined;
  }

  /** Counts one; what it returns notes its end, and is called once. */
  begin(team: string): () => void {
    this.#open.set(team, (this.#open.get(team) ?? 0) + 1);
    return () => {
      const left = (this.#open.get(team) ?? 1) - 1;
      if (left === 0) this.#open.delete(team);
      else this.#open.set(team, left);
    };
  }
}

export const usualOpenLimits: OpenLimits = { perSandbox: 4000, total: 20_000 };
