import { expect, test } from "vitest";
import type { BuildLogEntry } from "#builds/build-log.ts";
import type { BuildView } from "#services/builds/template-builds.ts";
import { logsBody, statusBody } from "./build-status.ts";

const build = { buildId: "b", templateId: "t", status: "building" } as BuildView;
const timeOf = (n: number): number => Date.parse("2026-01-01T00:00:00.000Z") + n;
const entry = (n: number, more: Partial<BuildLogEntry> = {}): BuildLogEntry => ({
  timestamp: new Date(timeOf(n)).toISOString(),
  level: "info",
  message: String(n),
  ...more,
});
const entries = [entry(0), entry(1, { level: "warn" }), entry(2, { level: "error", step: "2" }), entry(3, { level: "debug" }), entry(4)];
const said = (logs: readonly BuildLogEntry[]): string => logs.map(({ message }) => message).join("");

test("a status has the entries from an offset on, of a level and above", () => {
  expect(said(statusBody(build, entries, { logsOffset: 1, limit: 2 }).logEntries)).toBe("12");
  expect(said(statusBody(build, entries, { logsOffset: 1, level: "info" }).logEntries)).toBe("124");
  expect(said(statusBody(build, entries, { limit: 0 }).logEntries)).toBe("");
});

test("the reason of a failed build has the last ten errors of its step, oldest first", () => {
  const errors = Array.from({ length: 12 }, (_, n) => entry(10 + n, { level: "error", step: "2", message: `${n},` }));
  const failed = { ...build, reason: { step: "2", message: "no" } } as BuildView;
  const { reason } = statusBody(failed, [...errors, entry(99, { level: "error", step: "3" })], {});
  expect(said(reason?.logEntries ?? [])).toBe("2,3,4,5,6,7,8,9,10,11,");
});

test("logs come from a time on, or before it with the newest first", () => {
  expect(said(logsBody(entries, { cursor: timeOf(2) }).logs)).toBe("234");
  expect(said(logsBody(entries, { cursor: timeOf(2), direction: "backward" }).logs)).toBe("210");
  expect(said(logsBody(entries, { direction: "backward", limit: 2, level: "warn" }).logs)).toBe("21");
  expect(said(logsBody(entries, { cursor: 8.7e15 }).logs)).toBe("");
  expect(said(logsBody(entries, { cursor: 8.7e15, direction: "backward" }).logs)).toBe("43210");
});

test("a page of a long log looks no further than its last entry", () => {
  let looked = 0;
  const counted = new Proxy(
    Array.from({ length: 100_000 }, (_, n) => entry(n)),
    { get: (target, name, receiver) => (/^\d+$/.test(String(name)) && looked++, Reflect.get(target, name, receiver)) },
  );
  logsBody(counted, { limit: 100 });
  logsBody(counted, { limit: 100, direction: "backward", cursor: timeOf(1e9) });
  statusBody(build, counted, { limit: 100, level: "info" });
  expect(looked).toBe(300);
});
