/**
 * Reads command lines with commander (ADR 75). This file describes our flags to it, and adds three forms of kubectl that it does not read: `-n=x`,
 * `--wait=false`, and a flag whose value is optional (`--dry-run`).
 */
import { type Command, CommanderError, Option } from "commander";
import { UsageError } from "./failure.ts";
import { Arguments, type Flag, type Flags } from "./flags.ts";

/** Collects the values of flags as commander finds them. */
export class FlagReader {
  readonly #values = new Map<string, string[]>();

  constructor(command: Command, flags: Flags) {
    for (const [name, flag] of Object.entries(flags)) {
      const option = optionOf(name, flag);
      command.addOption(option);
      command.on(`option:${option.name()}`, (value?: string) => this.#add(name, value ?? "true"));
      if (flag.value !== undefined || negated(name) in flags) continue;
      const off = new Option(`--${negated(name)}`).hideHelp();
      command.addOption(off);
      command.on(`option:${off.name()}`, () => this.#add(name, "false"));
    }
  }

  arguments(words: readonly string[], afterDashes: readonly string[] | undefined): Arguments {
    return new Arguments([...words, ...(afterDashes ?? [])], this.#values, afterDashes);
  }

  #add(name: string, value: string): void {
    this.#values.set(name, [...(this.#values.get(name) ?? []), value]);
  }
}

export interface CommandLine {
  readonly own: readonly string[];
  readonly afterDashes: readonly string[] | undefined;
}

/** Words after `--` are never flags, so the parser does not see them. */
export function splitAtDashes(argv: readonly string[]): CommandLine {
  const at = argv.indexOf("--");
  return at < 0 ? { own: argv, afterDashes: undefined } : { own: argv.slice(0, at), afterDashes: argv.slice(at + 1) };
}

/** Rewrites words into forms that commander reads. */
export function plainForms(words: readonly string[], flags: Flags): string[] {
  const byShort = new Map(Object.entries(flags).map(([name, flag]) => [flag.short, name]));
  return words.map((word, at) => {
    const before = words[at - 1] ?? "";
    const valueOf = flags[before.startsWith("--") ? before.slice(2) : (byShort.get(before.slice(1)) ?? "")];
    if (before.startsWith("-") && valueOf?.value !== undefined && valueOf.alone === undefined) return word;
    if (/^-[a-zA-Z]=/.test(word) && byShort.has(word[1])) return `-${word[1] ?? ""}${word.slice(3)}`;
    return longForm(word, flags);
  });
}

function longForm(word: string, flags: Flags): string {
  const [, name = "", value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined;
  if (flag === undefined) return word;
  if (value === undefined) return flag.alone === undefined ? word : `${word}=${flag.alone}`;
  if (flag.value !== undefined) return word;
  if (value === "true") return `--${name}`;
  if (value === "false") return `--${negated(name)}`;
  throw new UsageError(`--${name} must be true or false, as in --${name}=true, not ${JSON.stringify(value)}`);
}

/** Turns commander's errors into ours; rethrows all others. */
export function usageErrorOf(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  return new UsageError(error.message.replace(/^error: /, ""));
}

export function isHelpShown(error: unknown): boolean {
  return error instanceof CommanderError && error.exitCode === 0;
}

function optionOf(name: string, flag: Flag): Option {
  const short = flag.short === undefined ? "" : `-${flag.short}, `;
  const value = flag.value === undefined ? "" : flag.alone === undefined ? ` <${flag.value}>` : ` [${flag.value}]`;
  const option = new Option(`${short}--${name}${value}`, flag.help);
  return flag.choices === undefined ? option : option.choices(flag.choices);
}

function negated(name: string): string {
  return name.startsWith("no-") ? name.slice(3) : `no-${name}`;
}
