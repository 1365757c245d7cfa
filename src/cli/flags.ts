/** Flags of a command: their description, and how a command line is read by it. Parsing itself is node:util's. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { UsageError } from "./failure.ts";
import { nearestWord } from "./nearest-word.ts";

export interface Flag {
  /** One letter. */
  readonly short?: string;
  readonly help: string;
  /** What the value is, for the help: `FILE`. Left out for a flag that is on or off. */
  readonly value?: string;
  /** The only values it may have. */
  readonly choices?: readonly string[];
  /** May be given several times. */
  readonly many?: true;
  /** The value when the flag stands alone; its value must then be joined with `=`. */
  readonly alone?: string;
}

export type Flags = Readonly<Record<string, Flag>>;

export const helpFlag: Flags = { help: { short: "h", help: "Show this help" } };

/** A command line that was read: flags by name, and the rest in order. */
export class Arguments {
  /** Those after `--` too. */
  readonly words: readonly string[];
  /** What stands after `--`; undefined when there is none. */
  readonly afterDashes: readonly string[] | undefined;
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(words: readonly string[], values: ReadonlyMap<string, readonly string[]>, afterDashes?: readonly string[]) {
    this.words = words;
    this.#values = values;
    this.afterDashes = afterDashes;
  }

  /** The words that are not after `--`. */
  get ownWords(): readonly string[] {
    return this.words.slice(0, this.words.length - (this.afterDashes?.length ?? 0));
  }

  has(flag: string): boolean {
    return this.#values.has(flag);
  }

  /** The last value given, as later flags correct earlier ones. */
  text(flag: string): string | undefined {
    return this.#values.get(flag)?.at(-1);
  }

  list(flag: string): readonly string[] {
    return this.#values.get(flag) ?? [];
  }

  /** A flag that is on or off. */
  isOn(flag: string, byDefault = false): boolean {
    const value = this.text(flag);
    return value === undefined ? byDefault : value === "true";
  }

  /** A whole number. */
  number(flag: string): number | undefined {
    const value = this.text(flag);
    if (value === undefined) return undefined;
    if (!/^-?\d+$/.test(value)) throw new UsageError(`--${flag} needs a whole number, not ${JSON.stringify(value)}`);
    return Number(value);
  }
}

export function readArguments(argv: readonly string[], flags: Flags): Arguments {
  const { tokens, positionals } = parseArgs({
    args: joined(argv, flags),
    options: optionsOf(flags),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const flag = flags[token.name];
    if (flag === undefined) throw unknownFlag(token.rawName, flags);
    values.set(token.name, [...(values.get(token.name) ?? []), valueOf(token.name, flag, token.value)]);
  }
  const dashes = tokens.find(({ kind }) => kind === "option-terminator");
  return new Arguments(positionals, values, dashes === undefined ? undefined : argv.slice(dashes.index + 1));
}

function optionsOf(flags: Flags): ParseArgsOptionsConfig {
  const entries = Object.entries(flags).map(([name, flag]) => {
    const type = takesNext(flag) ? ("string" as const) : ("boolean" as const);
    return [name, { type, ...(flag.short !== undefined && { short: flag.short }) }];
  });
  return Object.fromEntries(entries) as ParseArgsOptionsConfig;
}

/** node:util takes `-n=x` for the value `=x`; kubectl and everybody's fingers take it for `x`. */
function joined(argv: readonly string[], flags: Flags): string[] {
  const shorts = new Set(Object.values(flags).map(({ short }) => short));
  const dashes = argv.indexOf("--");
  return argv.map((word, at) => {
    const isOurs = dashes < 0 || at < dashes;
    return isOurs && /^-[a-zA-Z]=/.test(word) && shorts.has(word[1]) ? `-${word[1] ?? ""}${word.slice(3)}` : word;
  });
}

function takesNext(flag: Flag): boolean {
  return flag.value !== undefined && flag.alone === undefined;
}

function valueOf(name: string, flag: Flag, given: string | undefined): string {
  if (flag.value === undefined) return switchValue(name, given);
  const value = given ?? flag.alone;
  if (value === undefined) throw new UsageError(`--${name} needs a value: --${name} ${flag.value}`);
  if (flag.choices !== undefined && !flag.choices.includes(value)) {
    throw new UsageError(`--${name} may be ${orList(flag.choices)}, not ${JSON.stringify(value)}`);
  }
  return value;
}

function switchValue(name: string, given: string | undefined): string {
  if (given === undefined || given === "true" || given === "false") return given ?? "true";
  throw new UsageError(`--${name} is on or off: --${name}=true or --${name}=false, not ${JSON.stringify(given)}`);
}

function unknownFlag(rawName: string, flags: Flags): UsageError {
  const near = nearestWord(
    rawName,
    Object.keys(flags).map((name) => `--${name}`),
  );
  return new UsageError(near === undefined ? `unknown flag: ${rawName}` : `unknown flag: ${rawName}. Did you mean ${near}?`);
}

export function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
}
