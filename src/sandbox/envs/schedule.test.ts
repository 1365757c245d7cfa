import { expect, test } from "vitest";
import { nextStart, scheduleTrouble } from "./schedule.ts";

test.for([
  ["60 8 * * *", undefined, "start", "is no cron expression: Invalid value for minute: 60; use five fields"],
  ["0 0 8 * * *", undefined, "start", '"0 0 8 * * *" has 6 fields; use five fields'],
  ["every morning", undefined, "start", "has 2 fields"],
  ["0 8 30 2 *", undefined, "start", "never comes"],
  ["0 8 * * *", "Mars/Olympus", "timeZone", 'time zone "Mars/Olympus" is unknown; use a name such as Europe/Berlin'],
  ["0 8 * * *", "", "timeZone", "is unknown"],
] as const)("start %s in %s is refused, with the field and what would be right", ([start, timeZone, field, message]) => {
  const schedule = timeZone === undefined ? { start } : { start, timeZone };
  expect(scheduleTrouble(schedule)).toEqual({ field, message: expect.stringContaining(message) });
  expect(nextStart(schedule, 0)).toBeUndefined();
});

test.for([
  ["0 8 * * 1-5", "Asia/Kolkata"],
  ["*/5 * * * MON-FRI", "UTC"],
  // A Monday that is the 29th of February: once in 28 years.
  ["0 0 29 2 +1", "Europe/Berlin"],
] as const)("start %s in %s is in order", ([start, timeZone]) => {
  expect(scheduleTrouble({ start, timeZone })).toBeUndefined();
});

test("a start is the first one after the moment, in the schedule's own time zone, or in UTC", () => {
  const after = Date.parse("2026-03-30T06:30:00Z");
  expect(nextStart({ start: "0 9 * * *", timeZone: "Europe/Berlin" }, after)).toBe(Date.parse("2026-03-30T07:00:00Z"));
  expect(nextStart({ start: "0 9 * * *" }, after)).toBe(Date.parse("2026-03-30T09:00:00Z"));
});
