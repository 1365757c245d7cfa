/**
 * Label selectors in their text form, as `kubectl -l` and list calls take them. The grammar, the answer to labels that are
 * not there and the complaints are those of the API server, so a selector means the same wherever it is read.
 */
import { labelValueMistakes, qualifiedNameMistakes } from "./names.ts";

export type LabelRequirement =
  | { readonly key: string; readonly operator: "In" | "NotIn"; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: "Exists" | "DoesNotExist" }
  | { readonly key: string; readonly operator: "GreaterThan" | "LessThan"; readonly bound: number };

export class LabelSelectorError extends Error {
  override readonly name = "LabelSelectorError";

  /** What the API server answers to this selector. */
  readonly complaint: string;

  constructor(selector: string, complaint: string) {
    super(`label selector ${JSON.stringify(selector)}: ${complaint}`);
    this.complaint = complaint;
  }
}

/** Thrown while reading; the text of the selector is known only at the top. */
class Complaint extends Error {}

/** The requirements of a selector, all of which an object must meet. The empty selector has none. Throws a LabelSelectorError. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  try {
    return readRequirements(new Tokens(text));
  } catch (error) {
    throw error instanceof Complaint ? new LabelSelectorError(text, error.message) : error;
  }
}

function readRequirements(tokens: Tokens): readonly LabelRequirement[] {
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const start = tokens.peek();
    if (start.sort === "end") return requirements;
    if (start.sort !== "word" && start.text !== "!") {
      throw new Complaint(`found '${start.text}', expected: !, identifier, or 'end of string'`);
    }
    requirements.push(inRequirement(() => readRequirement(tokens)));
    const separator = tokens.next();
    if (separator.sort === "end") return requirements;
    if (separator.text !== ",") throw new Complaint(`found '${separator.text}', expected: ',' or 'end of string'`);
    const following = tokens.peek();
    if (following.sort !== "word" && following.text !== "!") {
      throw new Complaint(`found '${following.text}', expected: identifier after ','`);
    }
  }
}

/** The server puts these words before what is wrong within one requirement. */
function inRequirement<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Complaint ? new Complaint(`unable to parse requirement: ${error.message}`) : error;
  }
}

function readRequirement(tokens: Tokens): LabelRequirement {
  const negated = tokens.peek().text === "!";
  if (negated) tokens.next();
  const key = tokens.next();
  if (key.sort !== "word") throw new Complaint(`found '${key.text}', expected: identifier`);
  const mistakes = qualifiedNameMistakes(key.text);
  if (mistakes.length > 0) throw new Complaint(`<nil>: Invalid value: ${JSON.stringify(key.text)}: ${mistakes.join("; ")}`);
  if (negated) return { key: key.text, operator: "DoesNotExist" };
  const after = tokens.peek();
  if (after.sort === "end" || after.text === ",") return { key: key.text, operator: "Exists" };
  return readComparison(tokens, key.text);
}

function readComparison(tokens: Tokens, key: string): LabelRequirement {
  const operator = tokens.next();
  switch (operator.text) {
    case "=":
    case "==":
      return { key, operator: "In", values: checkedValues(key, [readValue(tokens)]) };
    case "!=":
      return { key, operator: "NotIn", values: checkedValues(key, [readValue(tokens)]) };
    case "in":
      return { key, operator: "In", values: checkedValues(key, readValueSet(tokens)) };
    case "notin":
      return { key, operator: "NotIn", values: checkedValues(key, readValueSet(tokens)) };
    case ">":
      return { key, operator: "GreaterThan", bound: readBound(tokens, key) };
    case "<":
      return { key, operator: "LessThan", bound: readBound(tokens, key) };
    default:
      throw new Complaint(`found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function readValue(tokens: Tokens): string {
  const ahead = tokens.peek();
  if (ahead.sort === "end" || ahead.text === ",") return "";
  const value = tokens.next();
  if (value.sort !== "word") throw new Complaint(`found '${value.text}', expected: identifier`);
  return value.text;
}

function readBound(tokens: Tokens, key: string): number {
  const value = readValue(tokens);
  const fits = /^[+-]?\d+$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value);
  if (!fits) {
    throw new Complaint(`values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`);
  }
  return Number(checkedValues(key, [value])[0]);
}

/** `(a,b)`. `()` is the empty value, and so is a missing value between commas. */
function readValueSet(tokens: Tokens): readonly string[] {
  const open = tokens.next();
  if (open.text !== "(") throw new Complaint(`found '${open.text}' expected: '('`);
  const values = new Set<string>();
  let afterValue = false;
  for (;;) {
    const token = tokens.next();
    if (token.text === ")") {
      if (!afterValue) values.add("");
      return [...values].sort();
    }
    if (token.text === ",") {
      if (!afterValue) values.add("");
      afterValue = false;
    } else if (token.sort === "word" && !afterValue) {
      values.add(token.text);
      afterValue = true;
    } else {
      throw new Complaint(`found '${token.text}', expected: ',' or ')'`);
    }
  }
}

function checkedValues(key: string, values: readonly string[]): readonly string[] {
  for (const [index, value] of values.entries()) {
    const mistakes = labelValueMistakes(value);
    if (mistakes.length > 0) {
      throw new Complaint(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${mistakes.join("; ")}`);
    }
  }
  return values;
}

interface Token {
  readonly sort: "word" | "symbol" | "end";
  readonly text: string;
}

class Tokens {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = [...text.matchAll(/(?<symbol>==|!=|[=!(),<>])|(?<word>[^=!(),<>\s]+)/g)].map((match) => ({
      sort: match.groups?.["word"] === undefined ? "symbol" : "word",
      text: match[0],
    }));
  }

  peek(): Token {
    return this.#tokens[this.#at] ?? { sort: "end", text: "" };
  }

  next(): Token {
    const token = this.peek();
    this.#at += 1;
    return token;
  }
}

/** True when the labels meet every requirement. As in Kubernetes, a label that is not there is "not in" any list. */
export function matchesLabels(requirements: readonly LabelRequirement[], labels: Readonly<Record<string, string>> = {}): boolean {
  return requirements.every((requirement) =>
    meets(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined),
  );
}

function meets(requirement: LabelRequirement, value: string | undefined): boolean {
  if ("values" in requirement) {
    const isListed = value !== undefined && requirement.values.includes(value);
    return requirement.operator === "In" ? isListed : !isListed;
  }
  if ("bound" in requirement) {
    if (!isInteger(value)) return false;
    return requirement.operator === "GreaterThan" ? Number(value) > requirement.bound : Number(value) < requirement.bound;
  }
  return requirement.operator === "Exists" ? value !== undefined : value === undefined;
}

function isInteger(value: string | undefined): value is string {
  return value !== undefined && /^-?\d+$/.test(value);
}
