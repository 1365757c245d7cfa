/** How a build stands, and its log, as E2B's clients read them. Pure. */
import { type Static, Type } from "typebox";
import type { BuildLogEntry, LogLevel } from "#builds/build-log.ts";
import { logLevels } from "#builds/build-log.ts";
import type { BuildView } from "#services/builds/template-builds.ts";

const entriesAtOnce = 100;
const levelText = Type.Union(logLevels.map((level) => Type.Literal(level)));

export const statusQuery = Type.Object({
  logsOffset: Type.Optional(Type.Integer({ minimum: 0 })),
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: entriesAtOnce })),
  level: Type.Optional(levelText),
});
export type StatusQuery = Static<typeof statusQuery>;

export const logsQuery = Type.Object({
  /** Milliseconds since 1970: from this time on, or before it where the newest come first. */
  cursor: Type.Optional(Type.Integer({ minimum: 0 })),
  limit: Type.Optional(Type.Integer({ minimum: 0, maximum: entriesAtOnce })),
  direction: Type.Optional(Type.Union([Type.Literal("forward"), Type.Literal("backward")])),
  level: Type.Optional(levelText),
  source: Type.Optional(Type.Union([Type.Literal("temporary"), Type.Literal("persistent")])),
});
export type LogsQuery = Static<typeof logsQuery>;

/** A client asks again from where it has come to, until nothing is left. */
export function statusBody(
  build: BuildView,
  entries: readonly BuildLogEntry[],
  { logsOffset = 0, limit = entriesAtOnce, level }: StatusQuery,
) {
  const { buildId: buildID, templateId: templateID, status, reason } = build;
  const shown = entries.filter((entry) => isAtLeast(entry, level));
  return {
    templateID,
    buildID,
    status,
    logs: [],
    logEntries: shown.slice(logsOffset, logsOffset + limit),
    ...(reason !== undefined && {
      reason: { ...reason, logEntries: entries.filter(({ step, level: of }) => of === "error" && step === reason.step).slice(-10) },
    }),
  };
}

export function logsBody(entries: readonly BuildLogEntry[], { cursor, limit = entriesAtOnce, direction = "forward", level }: LogsQuery) {
  const shown = entries.filter((entry) => isAtLeast(entry, level));
  const isNewestFirst = direction === "backward";
  const ordered = isNewestFirst ? shown.toReversed() : shown;
  const fits = ({ timestamp }: BuildLogEntry): boolean =>
    cursor === undefined || (isNewestFirst ? Date.parse(timestamp) <= cursor : Date.parse(timestamp) >= cursor);
  return { logs: ordered.filter((entry) => fits(entry)).slice(0, limit) };
}

function isAtLeast({ level }: BuildLogEntry, wanted: LogLevel | undefined): boolean {
  return wanted === undefined || logLevels.indexOf(level) >= logLevels.indexOf(wanted);
}
