/** What a suite says to a tree: whether one of its tests fails. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runCaged } from "./cage.ts";

export interface Verdict {
  /** Caught: a test failed. Hung: the tests came to no end. Unloaded: no test ran, for the file did not load. */
  readonly kind: "caught" | "hung" | "survived" | "unloaded";
  readonly detail: string;
}

/** The part of vitest's JSON report that is read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const reportName = "mutants-report.json";

export async function judge(tree: string, tests: readonly string[], limitMs: number): Promise<Verdict> {
  const report = join(tree, reportName);
  rmSync(report, { force: true });
  const vitest = [
    "node",
    "node_modules/vitest/vitest.mjs",
    "run",
    "--configLoader",
    "runner",
    "--project",
    "unit",
    "--project",
    "contract",
    "--bail",
    "1",
  ];
  const { code, output } = await runCaged(tree, [...vitest, "--reporter=json", `--outputFile=${reportName}`, ...tests], limitMs);
  if (code === undefined) return { kind: "hung", detail: output };
  if (code === 0) return { kind: "survived", detail: output };
  // The whole runner ended: without the bug it did not.
  if (!existsSync(report)) return { kind: "caught", detail: output };
  return verdictOf(JSON.parse(readFileSync(report, "utf8")) as Report, output);
}

function verdictOf({ testResults }: Report, output: string): Verdict {
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => `${name}: ${fullName}`),
  );
  if (failed.length > 0) return { kind: "caught", detail: failed.join("\n") };
  const unloaded = testResults.filter(({ status }) => status === "failed").map(({ name, message }) => `${name}: ${message}`);
  // An error outside of any test, as of a promise without an await, is noticed too.
  return unloaded.length > 0 ? { kind: "unloaded", detail: unloaded.join("\n") } : { kind: "caught", detail: output };
}
