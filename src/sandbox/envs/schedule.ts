/** When a schedule of a scaling group begins: a cron expression of five fields in a time zone. Pure but for the memory of those read before. */
import { Cron } from "croner";
import type { EnvSchedule } from "#model/env-autoscaling.ts";

export interface ScheduleTrouble {
  /** Field of the schedule. */
  readonly field: "start" | "timeZone";
  /** What is wrong and what would be right. */
  readonly message: string;
}

type Start = Pick<EnvSchedule, "start" | "timeZone">;
type Reading = { readonly trouble: ScheduleTrouble } | { readonly trouble: undefined; readonly cron: Cron };

/** What is wrong with the schedule, for its author; undefined when nothing is. */
export function scheduleTrouble(schedule: Start): ScheduleTrouble | undefined {
  return reading(schedule).trouble;
}

/** The first start after that moment; undefined when the schedule cannot be read. */
export function nextStart(schedule: Start, afterMs: number): number | undefined {
  const read = reading(schedule);
  return read.trouble === undefined ? read.cron.nextRun(new Date(afterMs))?.getTime() : undefined;
}

/** Schedules are few and read every few seconds. One Env may have 2048: with room for less, every check of it would parse all of them. */
const readings = new Map<string, Reading>();
const maxReadings = 4_096;

function reading({ start, timeZone = "UTC" }: Start): Reading {
  const key = JSON.stringify([start, timeZone]);
  const known = readings.get(key);
  if (known !== undefined) return known;
  if (readings.size >= maxReadings) readings.clear();
  const read = readAnew(start, timeZone);
  readings.set(key, read);
  return read;
}

const example = "use five fields (minute, hour, day of month, month, day of week) such as 0 8 * * 1-5";

function readAnew(start: string, timeZone: string): Reading {
  if (!isTimeZone(timeZone)) {
    return { trouble: { field: "timeZone", message: `time zone "${timeZone}" is unknown; use a name such as Europe/Berlin or UTC` } };
  }
  const wrong = (what: string): Reading => ({ trouble: { field: "start", message: `"${start}" ${what}; ${example}` } });
  const fields = start.trim().split(/\s+/).length;
  if (fields !== 5) return wrong(`has ${fields} fields`);
  try {
    if (!everComes(start)) return wrong("never comes: no month that it names has such a day");
    return { trouble: undefined, cron: new Cron(start, { timezone: timeZone, mode: "5-part", paused: true }) };
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, "") : String(error);
    return wrong(`is no cron expression: ${why}`);
  }
}

/** Days of the week and of the year come together again after 28 years. Without an end the search would go on for thousands of them. */
function everComes(start: string): boolean {
  const cron = new Cron(start, { timezone: "UTC", mode: "5-part", paused: true, stopAt: "2000-01-01T00:00:00" });
  return cron.nextRun(new Date(0)) !== null;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
