/** How a build stands, and its log, as E2B's clients read them. Pure. */
import { type Static, Type } from "typebox";
import type { BuildLogEntry, LogLevel } from "#builds/build-log.ts";
import { logLevels } from "#builds/build-log.ts";
import type { BuildView } from "#services/builds/template-builds.ts";

const entriesAtOnce = 100;
const levelText = Type.Unsafe<LogLevel>(Type.Union(logLevels.map((level) => Type.Literal(level))));

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
  return {
    templateID,
    buildID,
    status,
    logs: [],
    logEntries: picked(entries, { isIn: atLeast(level), skip: logsOffset, limit }),
    ...(reason !== undefined && {
      reason: {
        ...reason,
        logEntries: picked(entries, {
          isIn: ({ step, level: of }) => of === "error" && step === reason.step,
          isNewestFirst: true,
          limit: 10,
        }).toReversed(),
      },
    }),
  };
}

export function logsBody(entries: readonly BuildLogEntry[], { cursor, limit = entriesAtOnce, direction = "forward", level }: LogsQuery) {
  const isNewestFirst = direction === "backward";
  const isLevel = atLeast(level);
  if (cursor === undefined) return { logs: picked(entries, { isIn: isLevel, isNewestFirst, limit }) };
  // Times of entries are texts of one form, which compare like times.
  const edge = new Date(Math.min(cursor, lastTime)).toISOString();
  const fits = ({ timestamp }: BuildLogEntry): boolean => (isNewestFirst ? timestamp <= edge : timestamp >= edge);
  return { logs: picked(entries, { isIn: (entry) => fits(entry) && isLevel(entry), isNewestFirst, limit }) };
}

/** The last one whose text has as many digits as all others. */
const lastTime = Date.UTC(9999, 11, 31);

interface Wanted {
  readonly isIn: (entry: BuildLogEntry) => boolean;
  readonly isNewestFirst?: boolean;
  readonly skip?: number;
  readonly limit: number;
}

/** Ends with the last one that is wanted: a log has very many, and clients ask several times a second. */
function picked(entries: readonly BuildLogEntry[], { isIn, isNewestFirst = false, skip = 0, limit }: Wanted): BuildLogEntry[] {
  const found: BuildLogEntry[] = [];
  let left = skip;
  for (let at = 0; at < entries.length && found.length < limit; at++) {
    const entry = entries[isNewestFirst ? entries.length - 1 - at : at];
    if (entry === undefined || !isIn(entry)) continue;
    if (left > 0) left -= 1;
    else found.push(entry);
  }
  return found;
}

const ranks = new Map<LogLevel, number>(logLevels.map((level, rank) => [level, rank]));

function atLeast(wanted: LogLevel | undefined): (entry: BuildLogEntry) => boolean {
  if (wanted === undefined) return () => true;
  const least = ranks.get(wanted) ?? 0;
  return ({ level }) => (ranks.get(level) ?? 0) >= least;
}
