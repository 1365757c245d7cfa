/**
 * A log line as E2B shows it. Containers write plain text, so level and time are read from the line: from the fields of a JSON line (the daemon and most
 * loggers write those), otherwise from a time at its beginning and a level among its first words. A line without a time has the time of the line before
 * it, or of the sandbox's start; a line without a level is info. Pure.
 */
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogEntry {
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

export function logEntries(lines: readonly string[], startedAt: string): readonly LogEntry[] {
  let last = startedAt;
  return lines.map((line) => {
    const { time, ...entry } = readLine(line);
    last = time ?? last;
    return { timestamp: last, ...entry };
  });
}

/** False for an unknown level, which selects everything. */
export function isBelow(level: LogLevel, least: string | undefined): boolean {
  return logLevels.indexOf(level) < logLevels.findIndex((known) => known === least);
}

interface ReadLine extends Omit<LogEntry, "timestamp"> {
  readonly time: string | undefined;
}

function readLine(line: string): ReadLine {
  const json = jsonLine(line);
  if (json !== undefined) return json;
  const [first = "", ...words] = line.slice(0, 200).split(/\s+/, 4);
  return { time: timeIn(first), level: levelAmong([first, ...words]), message: line, fields: {} };
}

function jsonLine(line: string): ReadLine | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const fields = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const { time, timestamp = time, ts = timestamp, level, severity = level } = fields;
    const texts = Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    return { time: timeIn(ts), level: levelOf(severity) ?? "info", message: line, fields: Object.fromEntries(texts) };
  } catch {
    return undefined;
  }
}

/** RFC 3339, or milliseconds since 1970 as loggers write them. */
function timeIn(value: unknown): string | undefined {
  const ms = typeof value === "number" && value > 1e12 ? value : typeof value === "string" && form.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(ms) || ms > 8.64e15 ? undefined : new Date(ms).toISOString();
}

const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

const names: Readonly<Record<string, LogLevel>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  notice: "info",
  warn: "warn",
  warning: "warn",
  error: "error",
  err: "error",
  fatal: "error",
  critical: "error",
  panic: "error",
};

/** A name, or a number as pino has it. */
function levelOf(value: unknown): LogLevel | undefined {
  if (typeof value === "number") return value >= 50 ? "error" : value >= 40 ? "warn" : value >= 30 ? "info" : "debug";
  const name = typeof value === "string" ? value.toLowerCase() : "";
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** As `WARN`, `[error]` or `Error:`; a lower-case word in the middle of a sentence does not count. */
function levelAmong(words: readonly string[]): LogLevel {
  const marked = words.filter((word) => /^(\[[A-Za-z]+\]:?|[A-Z]+:?|[A-Za-z]+:)$/.test(word));
  return marked.map((word) => levelOf(word.replaceAll(/[[\]:]/g, ""))).find((level) => level !== undefined) ?? "info";
}
