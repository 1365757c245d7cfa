import { type Logger, openLog } from "#lib/log.ts";
import { SteppedClock } from "./stepped-clock.ts";

export interface RecordedLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A real logger that records its lines for the test. */
export function recordedLog(): { readonly log: Logger; readonly lines: readonly RecordedLine[] } {
  const lines: RecordedLine[] = [];
  const log = openLog({ clock: new SteppedClock(), out: { write: (line) => lines.push(JSON.parse(line) as RecordedLine) } });
  return { log, lines };
}
