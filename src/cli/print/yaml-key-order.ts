/**
 * The order of keys in kubectl's YAML: alphabetical, but letters come after all other characters, and digits compare as numbers (`item2` before `item10`).
 */
export function compareKeys(left: string, right: string): number {
  const a = Array.from(left);
  const b = Array.from(right);
  for (let at = 0; at < a.length && at < b.length; at++) {
    const [x = "", y = ""] = [a[at], b[at]];
    if (x === y) continue;
    if (isLetter(x) || isLetter(y)) return isLetter(x) && isLetter(y) ? order(x, y) : order(Number(isLetter(x)), Number(isLetter(y)));
    const [m, n] = numbersAt(a, b, at);
    return order(m.value, n.value) || order(m.end, n.end) || order(x, y);
  }
  return a.length - b.length;
}

interface NumberAt {
  readonly value: bigint;
  readonly end: number;
}

function numbersAt(a: readonly string[], b: readonly string[], at: number): [NumberAt, NumberAt] {
  // Inside a longer number, 0 is a normal digit; the common prefix prevents that it is dropped as a leading zero.
  const lead = (a[at] === "0" || b[at] === "0") && continuesNumber(a, at) ? "1" : "";
  return [numberAt(a, at, lead), numberAt(b, at, lead)];
}

function continuesNumber(text: readonly string[], at: number): boolean {
  for (let index = at - 1; index >= 0 && isDigit(text[index]); index--) {
    if (text[index] !== "0") return true;
  }
  return false;
}

function numberAt(text: readonly string[], at: number, lead: string): NumberAt {
  let end = at;
  while (isDigit(text[end])) end++;
  return { value: BigInt(lead + text.slice(at, end).join("") || "0"), end };
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && /^[0-9]$/.test(character);
}

function isLetter(character: string): boolean {
  return /^\p{L}$/u.test(character);
}

function order<T extends string | number | bigint>(left: T, right: T): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
