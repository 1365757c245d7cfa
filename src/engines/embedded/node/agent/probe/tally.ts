/** How single answers make a verdict: as many equal ones in a row as the probe's thresholds ask for. Pure. */
import type { ProbeVerdict } from "../plan/observed.ts";
import type { StoredProbe } from "#engines/embedded/stored-pod.ts";

export interface Tally {
  /** What is believed; undefined until enough is known. */
  readonly verdict: ProbeVerdict | undefined;
  readonly last: ProbeVerdict | undefined;
  readonly inARow: number;
}

export function newTally(initial: ProbeVerdict | undefined): Tally {
  return { verdict: initial, last: undefined, inARow: 0 };
}

export function withAnswer(tally: Tally, answer: ProbeVerdict, { successThreshold, failureThreshold }: StoredProbe): Tally {
  const inARow = tally.last === answer ? tally.inARow + 1 : 1;
  const needed = answer === "success" ? successThreshold : failureThreshold;
  return { verdict: inARow >= needed ? answer : tally.verdict, last: answer, inARow };
}
