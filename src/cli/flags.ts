/** Flags of a command: their definitions, and the values from a command line. Commander does the parsing (command-parser.ts). */
import { UsageError } from "./failure.ts";

export interface Flag {
  /** One letter. */
  readonly short?: string;
  readonly help: string;
  /** Name of the value in the help, such as `FILE`. Left out for a flag that is on or off. */
  readonly value?: string;
  /** The only allowed values. */
  readonly choices?: readonly string[];
  /** May be repeated. */
  readonly many?: true;
  /** The value if the flag stands alone; a value must then be joined with `=`. */
  readonly alone?: string;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A parsed command line: flags by name, and the other words in order. */
export class Arguments {
  /** Including the words after `--`. */
  readonly words: readonly string[];
  /** The words after `--`; undefined without `--`. */
  readonly afterDashes: readonly string[] | undefined;
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(words: readonly string[], values: ReadonlyMap<string, readonly string[]>, afterDashes?: readonly string[]) {
    this.words = words;
    this.#values = values;
    this.afterDashes = afterDashes;
  }

  /** The words before `--`. */
  get ownWords(): readonly string[] {
    return this.words.slice(0, this.words.length - (this.afterDashes?.length ?? 0));
  }

  has(flag: string): boolean {
    return this.#values.has(flag);
  }

  /** The last value, because later flags override earlier ones. */
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

export function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
}
