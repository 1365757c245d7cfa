/** What became of the creates: compares what the SDK was told with the server's history. Pure. */

/** A line of creates.py. */
export interface Told {
  readonly number: number;
  readonly id?: string;
  readonly error?: string;
}

export interface Verdict {
  readonly duplicates: readonly string[];
  readonly lost: readonly string[];
  readonly left: readonly string[];
}

interface Known {
  readonly sandboxId: string;
  readonly status: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly claimedAt: string;
  readonly terminatedAt?: string;
}

const over = new Set(["Completed", "Canceled", "Released", "Failed", "Stopping"]);

/** A sandbox whose client went away while it was made is given back (Canceled); that is no duplicate if it had ended when the next one was claimed. */
export function verdictOf(creates: number, told: readonly Told[], records: readonly Known[]): Verdict {
  const made = Map.groupBy(records, ({ metadata }) => Number(metadata["number"]));
  const idOf = new Map(told.map(({ number, id }) => [number, id]));
  const numbers = Array.from({ length: creates }, (_, number) => number);
  return {
    duplicates: numbers.flatMap((number) => {
      const all = (made.get(number) ?? []).toSorted((left, right) => (left.claimedAt < right.claimedAt ? -1 : 1));
      const isGivenBack = ({ status, terminatedAt = "~" }: Known, at: number): boolean =>
        status === "Canceled" && terminatedAt <= (all[at + 1]?.claimedAt ?? "~");
      const kept = all.filter((one, at) => !isGivenBack(one, at));
      return kept.length > 1 ? [`create ${number} made ${kept.map(({ sandboxId }) => sandboxId).join(", ")}`] : [];
    }),
    lost: numbers.flatMap((number) => {
      const [id, ids] = [idOf.get(number), (made.get(number) ?? []).map(({ sandboxId }) => sandboxId)];
      const error = told.find((one) => one.number === number)?.error;
      if (id === undefined) return [`create ${number} was never answered: ${error ?? "it was not tried"}`];
      return ids.includes(id) ? [] : [`create ${number} was told ${id}, which the server does not know`];
    }),
    left: records.filter(({ status }) => !over.has(status)).map(({ sandboxId, status }) => `${sandboxId} is ${status}`),
  };
}
