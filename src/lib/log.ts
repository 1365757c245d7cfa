/**
 * The log, as a dependency. Messages are constants and variables are fields, so that lines can be searched and counted: `log.warn({ key, error },
 * "reconcile failed")`. `redact.ts` removes secrets.
 */
import pino from "pino";
import type { Clock } from "./clock.ts";
import { redact } from "./redact.ts";

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger that adds these fields to each of its lines. */
  with(fields: LogFields): Logger;
}

export interface LogOptions {
  readonly clock: Clock;
  /** Where lines go: `process.stdout` in life. */
  readonly out: { write(text: string): unknown; readonly isTTY?: boolean };
}

/** A logger that writes JSON lines, or lines for people if `out` is a terminal. */
export function openLog({ clock, out }: LogOptions): Logger {
  const lines = pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    { write: (line) => out.write(out.isTTY === true ? textLine(line) : line) },
  );
  return loggerOver(lines, {});
}

function loggerOver(lines: pino.Logger, always: LogFields): Logger {
  const clean = (fields: LogFields): object => redact({ ...always, ...fields }) as object;
  return {
    info: (fields, message) => lines.info(clean(fields), message),
    warn: (fields, message) => lines.warn(clean(fields), message),
    error: (fields, message) => lines.error(clean(fields), message),
    with: (fields) => loggerOver(lines, { ...always, ...fields }),
  };
}

/** Turns one JSON log line into one that a person reads at a terminal: time of day, level, message, fields, then stacks. */
function textLine(jsonLine: string): string {
  const { time, level, msg, ...fields } = JSON.parse(jsonLine) as Record<string, unknown>;
  const stacks: string[] = [];
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${shortForm(value, stacks)}`);
  const head = `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(msg)}`;
  return `${[head + shown.join(""), ...stacks].join("\n")}\n`;
}

function shortForm(value: unknown, stacks: string[]): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (typeof value === "object" && value !== null && "stack" in value && "message" in value) {
    stacks.push(String(value.stack));
    return JSON.stringify(value.message);
  }
  return JSON.stringify(value);
}
