/**
 * Time spans as Kubernetes writes them ("30s", "5m", "1h30m"): what Go's ParseDuration takes, without a sign,
 * because no field of ours has a meaning for a negative span.
 */
export const durationPattern = "^(0|([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+)$";

const millisecondsIn = { h: 3_600_000, m: 60_000, s: 1000, ms: 1, us: 1e-3, ns: 1e-6 } as const;

type Unit = keyof typeof millisecondsIn;

const wholeSpan = new RegExp(durationPattern);
const onePart = /([0-9]+(?:\.[0-9]+)?)(ns|us|ms|s|m|h)/g;

/** In milliseconds; parts below one are kept as a fraction. */
export function parseDuration(text: string): number {
  if (!wholeSpan.test(text)) {
    throw new Error(`"${text}" is not a duration: write numbers with units h, m, s, ms, us or ns, such as "90s" or "1h30m"`);
  }
  let total = 0;
  // The pattern captures nothing but these units.
  for (const [, number, unit] of text.matchAll(onePart)) total += Number(number) * millisecondsIn[unit as Unit];
  return total;
}

/** The shortest text with whole units, such as "1h30m"; "0s" for nothing. Fractions of a millisecond are dropped. */
export function formatDuration(milliseconds: number): string {
  if (!(milliseconds >= 0 && Number.isFinite(milliseconds))) {
    throw new Error(`${milliseconds} ms is not a duration: it must be finite and not negative`);
  }
  let rest = Math.floor(milliseconds);
  let text = "";
  for (const unit of ["h", "m", "s", "ms"] as const) {
    const whole = Math.floor(rest / millisecondsIn[unit]);
    if (whole > 0) text += `${whole}${unit}`;
    rest -= whole * millisecondsIn[unit];
  }
  return text === "" ? "0s" : text;
}
