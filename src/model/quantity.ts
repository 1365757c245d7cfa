/** Amounts of resources, such as `500m` and `1.5Gi`: read, compared and written exactly as the API server does it. */
export interface Quantity {
  /** In billionths, the smallest amount that there is. */
  readonly nanos: bigint;
  readonly format: "decimal" | "binary" | "exponent";
}

/** Says in its message what is wrong with a quantity. */
export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const decimalExponents: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = ["", ...Object.keys(binaryExponents)];

// Each digit can be read in one way only, so a long text that is no quantity is refused in linear time.
const syntax = /^(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<fraction>\d*))?(?<suffix>(?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?)$/;
/** Far beyond what the server can count, and few enough digits to compute with. */
const longestText = 100;
const largestExponent = 999;
const unitNanos = 10n ** 9n;

interface Parts extends Quantity {
  /** Whether the server would write it just as it was given. */
  readonly isCanonical: boolean;
}

/** Results by text: the same few amounts come with every pod of a pool. */
const known = new Map<string, Parts>();
const maxKnown = 1000;

/** Throws a QuantityError. */
export function parseQuantity(amount: string | number): Quantity {
  const text = String(amount);
  const before = known.get(text);
  if (before !== undefined) return before;
  const quantity = parse(text);
  if (known.size === maxKnown) known.clear();
  known.set(text, quantity);
  return quantity;
}

/** In cores, bytes or pieces, for arithmetic that may round. Undefined for what is not given, and for what is no quantity. */
export function quantityNumber(quantity: string | number | undefined): number | undefined {
  if (quantity === undefined) return undefined;
  try {
    const { nanos } = parseQuantity(quantity);
    // The whole part by itself: with nine more digits a large number of bytes would be rounded.
    return Number(nanos / unitNanos) + Number(nanos % unitNanos) / Number(unitNanos);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** A multiple of a quantity, in the unit that it was written in. The quantity has been checked. */
export function multipliedQuantity(quantity: string | number, by: number): string {
  const [, number = "0", unit = ""] = /^([+-]?[\d.]+)(.*)$/.exec(String(quantity)) ?? [];
  // Nine places are what Kubernetes keeps.
  return `${Number((Number(number) * by).toFixed(9))}${unit}`;
}

/** The form in which the server keeps a quantity: as few digits as possible, nothing smaller than a thousandth. */
export function canonicalQuantity(text: string): string {
  // Nearly all quantities are like 500m, 2 or 512Mi: nothing can be shortened in three digits that do not start with a zero.
  if (/^[1-9]\d{0,2}(?:m|k|M|G|T|Ki|Mi|Gi|Ti)?$/.test(text)) return text;
  const quantity = parse(text);
  if (quantity.isCanonical && quantity.nanos % 1_000_000n === 0n) return text;
  return formatQuantity(quantity);
}

function parse(text: string): Parts {
  const { digits, fraction, suffix, isShort } = readNumber(text);
  const { format, base, exponent } = readSuffix(suffix);
  if (base === 2) {
    const nanos = scaled(digits * 2n ** BigInt(exponent), 9 - fraction.length);
    return { nanos, format, isCanonical: fraction === "" && digits % 8n !== 0n };
  }
  const scale = exponent - fraction.length;
  return { nanos: scaled(digits, scale + 9), format, isCanonical: scale % 3 === 0 && isShort };
}

/** The number before the suffix, as if it had no point. It is short when it has no zeros to spare. */
function readNumber(text: string): { digits: bigint; fraction: string; suffix: string; isShort: boolean } {
  if (text.length > longestText) throw new QuantityError(`quantities have at most ${longestText} characters, not ${text.length}`);
  const groups = syntax.exec(text)?.groups;
  if (groups === undefined || text === "") {
    throw new QuantityError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  const { sign, whole = "", fraction = "", suffix = "" } = groups;
  const shifted = (whole.replace(/^0+/, "") || "0") + fraction;
  const isShort = !shifted.endsWith("000") && !shifted.startsWith("0");
  return { digits: BigInt(shifted) * (sign === "-" ? -1n : 1n), fraction, suffix, isShort };
}

function readSuffix(suffix: string): { format: Quantity["format"]; base: 2 | 10; exponent: number } {
  const decimal = decimalExponents[suffix];
  if (decimal !== undefined) return { format: "decimal", base: 10, exponent: decimal };
  const binary = binaryExponents[suffix];
  if (binary !== undefined) return { format: "binary", base: 2, exponent: binary };
  if (/^[eE][-+]?\d+$/.test(suffix)) return { format: "exponent", base: 10, exponent: exponentOf(suffix) };
  throw new QuantityError("unable to parse quantity's suffix");
}

function exponentOf(suffix: string): number {
  const exponent = Number(suffix.slice(1));
  if (Math.abs(exponent) <= largestExponent) return exponent;
  throw new QuantityError(`the exponent of a quantity is at most ${largestExponent}, not ${suffix.slice(1)}`);
}

/** `value` × 10^exponent; what would be lost is rounded up, away from zero, so that asking for a little never asks for nothing. */
function scaled(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return roundedUp(value, divisor);
}

function roundedUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}

function formatQuantity({ nanos: exact, format }: Quantity): string {
  const nanos = roundedUp(exact, 1_000_000n) * 1_000_000n;
  if (nanos === 0n) return "0";
  const isWhole = nanos % unitNanos === 0n;
  const magnitude = nanos < 0n ? -nanos : nanos;
  if (format === "binary" && isWhole && magnitude >= 1024n * unitNanos) {
    const { digits, steps } = shortened(nanos / unitNanos, 1024n, binarySuffixes.length - 1);
    // Without a suffix no reader, the server included, can tell that it was binary.
    if (steps > 0) return `${digits}${binarySuffixes[steps]}`;
  }
  const { digits, steps } = shortened(nanos, 1000n, 9);
  const exponent = steps * 3 - 9;
  if (format === "exponent") return exponent === 0 ? `${digits}` : `${digits}e${exponent}`;
  return `${digits}${decimalSuffixes.get(exponent) ?? ""}`;
}

function shortened(value: bigint, by: bigint, maxSteps: number): { digits: bigint; steps: number } {
  let digits = value;
  let steps = 0;
  while (steps < maxSteps && digits % by === 0n) {
    digits /= by;
    steps += 1;
  }
  return { digits, steps };
}
