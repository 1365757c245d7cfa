/** The WWW-Authenticate header: how a registry wants to be asked again. */

export interface Challenge {
  /** Lower case: `bearer`, `basic`. */
  readonly scheme: string;
  /** Lower-case names. */
  readonly parameters: Readonly<Record<string, string>>;
}

const token = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const quoted = /"((?:[^"\\]|\\.)*)"/y;
const separators = /[\s,]+/y;
const equals = /\s*=\s*/y;

/** All challenges of one or more header lines; whatever cannot be read ends the list. */
export function parseChallenges(header: string | readonly string[]): Challenge[] {
  const text = typeof header === "string" ? header : header.join(", ");
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  const scan = new Scanner(text);
  for (;;) {
    scan.take(separators);
    const name = scan.take(token);
    if (name === undefined) return challenges;
    const current = challenges.at(-1);
    // `name=value` belongs to the scheme before it, a name alone is the next scheme.
    if (current === undefined || scan.take(equals) === undefined) {
      challenges.push({ scheme: name.toLowerCase(), parameters: {} });
      continue;
    }
    const value = scan.take(quoted, 1)?.replaceAll(/\\(.)/g, "$1") ?? scan.take(token);
    if (value === undefined) return challenges;
    current.parameters[name.toLowerCase()] = value;
  }
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** What the pattern finds at the present place, which moves behind it. */
  take(pattern: RegExp, group = 0): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found[group];
  }
}
