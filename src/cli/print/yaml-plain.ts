/**
 * What unquoted text means in the YAML of Kubernetes: YAML 1.1 (`yes` is true, `010` is eight), except that times (`2026-01-01`, `12:30`) and infinities
 * are text. Used to read such text, and to decide which text must be quoted.
 */
export function plainValue(text: string): string | number | boolean | null {
  const word = words.get(text);
  return word === undefined ? (numberOf(text) ?? text) : word;
}

/** True if some YAML reader would take the unquoted text for something other than text. */
export function needsQuotes(text: string): boolean {
  return typeof plainValue(text) !== "string" || notFinite.test(text) || sexagesimal.test(text) || isTimestamp(text);
}

const words = new Map<string, boolean | null>([
  ...inAnyCase(["y", "yes", "true", "on"]).map((word) => [word, true] as const),
  ...inAnyCase(["n", "no", "false", "off"]).map((word) => [word, false] as const),
  ...["", "~", ...inAnyCase(["null"])].map((word) => [word, null] as const),
]);

function inAnyCase(list: readonly string[]): string[] {
  return list.flatMap((word) => [word, word.toUpperCase(), word.charAt(0).toUpperCase() + word.slice(1)]);
}

const notFinite = /^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/;
const sexagesimal = /^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$/;
const decimal = /^(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$/;

function numberOf(text: string): number | undefined {
  if (text.startsWith(".")) return decimal.test(text) ? Number(text) : undefined;
  if (!/^[-+0-9]/.test(text)) return undefined;
  const digits = text.replaceAll("_", "");
  const [, sign = "", prefix = ""] = /^([-+]?)(0[xXoObB]|0(?=[0-7]+$))?/.exec(digits) ?? [];
  const rest = digits.slice(sign.length + prefix.length);
  const size = prefix === "" ? decimalOf(rest) : wholeOf(rest, prefix.toLowerCase(), sign === "-");
  return size === undefined || sign !== "-" ? size : -size;
}

function decimalOf(text: string): number | undefined {
  const value = decimal.test(text) ? Number(text) : Infinity;
  return Number.isFinite(value) ? value : undefined;
}

/** Integers with a prefix must fit into 64 bits. */
function wholeOf(digits: string, prefix: string, negative: boolean): number | undefined {
  const [allowed, radix] = radixes[prefix] ?? [/^[0-7]+$/, "0o"];
  if (!allowed.test(digits)) return undefined;
  const value = BigInt(radix + digits);
  return value <= (negative ? 2n ** 63n : 2n ** 64n - 1n) ? Number(value) : undefined;
}

const radixes: Readonly<Record<string, readonly [RegExp, string]>> = {
  "0x": [/^[0-9a-fA-F]+$/, "0x"],
  "0b": [/^[01]+$/, "0b"],
};

function isTimestamp(text: string): boolean {
  const match = /^\d{4}-(\d{1,2})-(\d{1,2})(?:[Tt ](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(Z|[-+]\d\d:\d\d)?)?$/.exec(text);
  if (match === null) return false;
  const [, month, date, hours, , , zone] = match;
  // A zone is required after a T, and forbidden after a space.
  if (hours !== undefined && /[Tt]/.test(text) !== (zone !== undefined)) return false;
  return Number(month) >= 1 && Number(month) <= 12 && Number(date) >= 1 && Number(date) <= 31 && validTime(match);
}

function validTime([, , , hours = "0", minutes = "0", seconds = "0"]: RegExpExecArray): boolean {
  return Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) < 60;
}
