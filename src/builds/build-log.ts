/** Lines of a build's log, in the words that E2B's clients know. Pure. */
import type { StepName } from "./build-failure.ts";
import type { WireStep } from "./build-step.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface BuildLogEntry {
  /** ISO 8601. */
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly step?: string;
}

/** `count`: how many steps there are. */
export function stepPrefix(step: StepName, count: number): string {
  return typeof step === "number" ? `[builder ${step}/${count}]` : `[${step}]`;
}

export interface StepLine {
  readonly step: StepName;
  readonly count: number;
  /** What is done. */
  readonly text: string;
  /** Of the layer. */
  readonly key: string;
  readonly isCached: boolean;
}

/** `CACHED [builder 2/5] RUN make [8d0c…]` */
export function stepLine({ step, count, text, key, isCached }: StepLine): string {
  return `${isCached ? "CACHED " : ""}${stepPrefix(step, count)} ${text} [${key}]`;
}

/** `[builder 2/5] [stdout]: 12 passed` */
export function outputLine(step: StepName, count: number, { stream, line }: { readonly stream: string; readonly line: string }): string {
  return `${stepPrefix(step, count)} [${stream}]: ${line}`;
}

/** A step in one line, as a Dockerfile has it. */
export function stepText({ type, args = [] }: WireStep): string {
  if (type === "ENV") {
    const pairs = Array.from({ length: Math.floor(args.length / 2) }, (_, at) => `${args[2 * at]}=${args[2 * at + 1]}`);
    return `ENV ${pairs.join(" ")}`;
  }
  return `${type} ${args.filter((arg) => arg !== "").join(" ")}`.trimEnd();
}

const longestLine = 4096;

/** Cuts output into lines: one that is longer than a log line may be comes in pieces, and the last may have no end. */
export class OutputLines {
  #rest = "";
  readonly #decoder = new TextDecoder("utf8");

  /** The lines that are complete now. */
  add(bytes: Buffer): readonly string[] {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    const whole = lines.flatMap((line) => pieces(line.replace(/\r$/, "")));
    while (this.#rest.length > longestLine) {
      whole.push(this.#rest.slice(0, longestLine));
      this.#rest = this.#rest.slice(longestLine);
    }
    return whole;
  }

  end(): readonly string[] {
    const rest = this.#rest + this.#decoder.decode();
    this.#rest = "";
    return rest === "" ? [] : pieces(rest);
  }
}

function pieces(line: string): string[] {
  if (line.length <= longestLine) return [line];
  return Array.from({ length: Math.ceil(line.length / longestLine) }, (_, at) => line.slice(at * longestLine, (at + 1) * longestLine));
}
