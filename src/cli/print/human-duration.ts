const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/**
 * A duration in two or three significant figures, as kubectl writes ages: `5s`, `2m10s`, `3h`, `5d12h`, `2y30d`.
 * The smaller unit is dropped when it matters little beside the larger one.
 */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / second);
  // Clocks of two machines may differ a little; a larger difference is worth showing.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (ms < 2 * minute) return `${seconds}s`;
  if (ms < 10 * minute) return twoUnits(ms, [minute, "m"], [second, "s"]);
  if (ms < 3 * hour) return oneUnit(ms, minute, "m");
  if (ms < 8 * hour) return twoUnits(ms, [hour, "h"], [minute, "m"]);
  if (ms < 2 * day) return oneUnit(ms, hour, "h");
  if (ms < 8 * day) return twoUnits(ms, [day, "d"], [hour, "h"]);
  if (ms < 2 * year) return oneUnit(ms, day, "d");
  if (ms < 8 * year) return twoUnits(ms, [year, "y"], [day, "d"]);
  return oneUnit(ms, year, "y");
}

/** The age of `timestamp`; `<unknown>` without one. */
export function age(timestamp: string | null | undefined, now: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === "") return "<unknown>";
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? "<invalid>" : humanDuration(now - then);
}

type Unit = readonly [ms: number, letter: string];

function oneUnit(ms: number, unit: number, letter: string): string {
  return `${Math.trunc(ms / unit)}${letter}`;
}

function twoUnits(ms: number, [big, bigLetter]: Unit, [small, smallLetter]: Unit): string {
  const rest = Math.trunc((ms % big) / small);
  return rest === 0 ? oneUnit(ms, big, bigLetter) : `${oneUnit(ms, big, bigLetter)}${rest}${smallLetter}`;
}
