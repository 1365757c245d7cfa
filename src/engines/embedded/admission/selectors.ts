/**
 * Label and field selectors in their text form, read as the API server reads them: the same grammar, the same answer to
 * labels that are not there, the same complaints. A selector that cannot be read is a bad request.
 */
import { ApiError } from "#kube/api-error.ts";
import { type LabelRequirement, matchesLabels } from "#model/label-selector.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { quote } from "./causes.ts";
import { labelValueMistakes, qualifiedNameMistakes } from "./names.ts";

export type LabelPredicate = (labels: ObjectMeta["labels"]) => boolean;

export interface FieldRequirement {
  readonly key: string;
  readonly op: "=" | "!=";
  readonly value: string;
}

/** A predicate that holds for objects whose labels meet every requirement of the selector. */
export function parseLabelSelector(text: string): LabelPredicate {
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const start = tokens.peek();
    if (start.sort === "end") break;
    if (start.sort !== "word" && start.text !== "!") throw unreadable(`found '${start.text}', expected: !, identifier, or 'end of string'`);
    requirements.push(inRequirement(() => readRequirement(tokens)));
    const separator = tokens.next();
    if (separator.sort === "end") break;
    if (separator.text !== ",") throw unreadable(`found '${separator.text}', expected: ',' or 'end of string'`);
    const following = tokens.peek();
    if (following.sort !== "word" && following.text !== "!") {
      throw unreadable(`found '${following.text}', expected: identifier after ','`);
    }
  }
  return requirements.length === 0 ? () => true : (labels) => matchesLabels(requirements, labels);
}

function readRequirement(tokens: Tokens): LabelRequirement {
  const negated = tokens.peek().text === "!";
  if (negated) tokens.next();
  const key = tokens.next();
  if (key.sort !== "word") throw unreadable(`found '${key.text}', expected: identifier`);
  const mistakes = qualifiedNameMistakes(key.text);
  if (mistakes.length > 0) throw unreadable(`<nil>: Invalid value: ${quote(key.text)}: ${mistakes.join("; ")}`);
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
      throw unreadable(`found '${operator.text}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function readValue(tokens: Tokens): string {
  const ahead = tokens.peek();
  if (ahead.sort === "end" || ahead.text === ",") return "";
  const value = tokens.next();
  if (value.sort !== "word") throw unreadable(`found '${value.text}', expected: identifier`);
  return value.text;
}

function readBound(tokens: Tokens, key: string): number {
  const value = readValue(tokens);
  const fits = /^[+-]?\d+$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value);
  if (!fits) throw unreadable(`values[0]: Invalid value: ${quote(value)}: for 'Gt', 'Lt' operators, the value must be an integer`);
  return Number(checkedValues(key, [value])[0]);
}

/** `(a,b)`, with `()` for the empty value and a missing value between commas likewise. */
function readValueSet(tokens: Tokens): readonly string[] {
  const open = tokens.next();
  if (open.text !== "(") throw unreadable(`found '${open.text}' expected: '('`);
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
      throw unreadable(`found '${token.text}', expected: ',' or ')'`);
    }
  }
}

function checkedValues(key: string, values: readonly string[]): readonly string[] {
  for (const [index, value] of values.entries()) {
    const mistakes = labelValueMistakes(value);
    if (mistakes.length > 0) throw unreadable(`values[${index}][${key}]: Invalid value: ${quote(value)}: ${mistakes.join("; ")}`);
  }
  return values;
}

function inRequirement<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ApiError ? unreadable(`unable to parse requirement: ${error.message}`) : error;
  }
}

function unreadable(message: string): ApiError {
  return new ApiError("BadRequest", message);
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

/** The requirements of a field selector, all of which must be met. A comma, an equals sign or a backslash in a value is escaped with a backslash. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  return splitTerms(text)
    .filter((term) => term !== "")
    .map((term) => {
      const parts = /^(?<key>(?:[^\\=!]|\\.|!(?!=))*)(?<op>!=|==?)(?<value>.*)$/s.exec(term)?.groups;
      if (parts === undefined) throw unreadable(`invalid selector: '${text}'; can't understand '${term}'`);
      return { key: parts["key"] ?? "", op: parts["op"] === "!=" ? "!=" : "=", value: unescaped(parts["value"] ?? "") };
    });
}

/** Commas that are not escaped. */
function splitTerms(text: string): readonly string[] {
  return text.match(/(?:\\.|[^\\,]|\\$)+/gs) ?? [];
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(?<escaped>.?)|[,=]/gs, (sequence, escaped?: string) => {
    if (escaped === undefined) throw unreadable(`invalid field selector: unescaped character in value: ${sequence.codePointAt(0)}`);
    if (escaped === "" || !"\\,=".includes(escaped)) throw unreadable(`invalid field selector: invalid escape sequence: ${sequence}`);
    return escaped;
  });
}
