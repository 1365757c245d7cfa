/** Flags of a command: their description, and what a command line gave for them. Commander reads the line (command-parser.ts). */
import { UsageError } from "./failure.ts";

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

export function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`;
}
