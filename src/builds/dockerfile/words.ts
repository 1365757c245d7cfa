/** Words, quotes and lists of a Dockerfile's instructions. Pure. */

/** A list in JSON, which many instructions may have instead of text. Undefined: it is text. */
export function jsonList(text: string): readonly string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((part) => typeof part === "string") ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Words between blanks; quotes keep blanks, and a backslash keeps what follows it. The quotes are taken away. A dollar sign that is not the beginning of a
 * variable keeps a backslash.
 */
export function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [piece] of text.matchAll(pieces)) {
    if (/^\s/.test(piece)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + meaningOf(piece);
  }
  return word === undefined ? words : [...words, word];
}

/** Blanks, a quoted part, an escaped sign, or plain signs. A quote without an end is a sign. */
const pieces = /\s+|"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^\s"'\\]+|["'\\]/g;

function meaningOf(piece: string): string {
  if (piece.length > 1 && piece.startsWith("'")) return piece.slice(1, -1).replaceAll("$", "\\$");
  if (piece.length > 1 && piece.startsWith('"'))
    return piece.slice(1, -1).replaceAll(/\\([\s\S])/g, (_, sign: string) => escaped(sign, '"'));
  return piece.startsWith("\\") && piece.length > 1 ? escaped(piece.slice(1), undefined) : piece;
}

/** `\$` stays, so that no variable is put there later. */
function escaped(sign: string, quote: string | undefined): string {
  if (sign === "$") return "\\$";
  return quote === '"' && sign !== '"' && sign !== "\\" ? `\\${sign}` : sign;
}

/** `--name=value` at the beginning, and the rest. A flag without a value has "". */
export function flagsOf(text: string): { readonly flags: ReadonlyMap<string, readonly string[]>; readonly rest: string } {
  const flags = new Map<string, string[]>();
  let rest = text;
  for (;;) {
    const [whole, name, value = ""] = /^--([a-z-]+)(?:=(\S*))?(?:\s+|$)/.exec(rest) ?? [];
    if (whole === undefined || name === undefined) return { flags, rest };
    flags.set(name, [...(flags.get(name) ?? []), value]);
    rest = rest.slice(whole.length);
  }
}

/** As a shell reads it back as one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
