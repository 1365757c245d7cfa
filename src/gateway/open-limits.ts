/** Limits of open requests and upgraded connections: for one sandbox, so that its traffic does not disturb the others, and for all together. */
export interface OpenLimits {
  readonly perSandbox: number;
  readonly total: number;
  /** For all sandboxes of a team; no limit when left out. */
  readonly teams?: OpenOfTeams | undefined;
}

export class OpenOfTeams {
  readonly #most: (team: string) => number | undefined;
  readonly #open = new Map<string, number>();

  /** `most`: undefined for a team without a limit. */
  constructor(most: (team: string) => number | undefined) {
    this.#most = most;
  }

  /** The limit that is reached, if any. */
  reached(team: string): number | undefined {
    const most = team === "" ? undefined : this.#most(team);
    return most !== undefined && (this.#open.get(team) ?? 0) >= most ? most : undefined;
  }

  /** Counts one; call the returned function once, at its end. */
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
