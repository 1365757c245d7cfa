import { describe, expect, test } from "vitest";
import { HistoryError } from "../history-error.ts";
import { explainFailure, isBusy } from "./failures.ts";

/** As node:sqlite throws them: an extended result code, whose low byte is the primary one. */
const sqliteError = (errcode: number) => Object.assign(new Error("some words"), { code: "ERR_SQLITE_ERROR", errcode });

describe("a failure of SQLite", () => {
  test.each([
    ["busy", 5, "unavailable", /busy/],
    ["busy while it recovers", 261, "unavailable", /busy/],
    ["read-only", 8, "misconfigured", /cannot be written/],
    ["damage", 11, "misconfigured", /damaged/],
    ["a full disk", 13, "unavailable", /no room left/],
    ["a file that cannot be opened", 14, "misconfigured", /cannot be opened/],
    ["no database", 26, "misconfigured", /not a history/],
    ["an I/O error", 10, "unavailable", /some words/],
  ] as const)("%s is told apart, and in words that help", (_, errcode, code, message) => {
    const error = sqliteError(errcode);
    expect(explainFailure("/data/h.db", error)).toMatchObject({ code, message: expect.stringMatching(message) as string, cause: error });
    expect(isBusy(error)).toBe((errcode & 0xff) === 5);
  });

  test("a file that the system does not let us make is one too", () => {
    const error = Object.assign(new Error("no"), { code: "EACCES" });
    expect(explainFailure("/data/h.db", error)).toMatchObject({
      code: "misconfigured",
      message: expect.stringContaining("EACCES") as string,
    });
  });

  test("whatever else is thrown is passed on", () => {
    const bug = new TypeError("x is not a function");
    const ours = new HistoryError("conflict", "another owner");
    expect(explainFailure("/data/h.db", bug)).toBe(bug);
    expect(explainFailure("/data/h.db", ours)).toBe(ours);
  });
});
