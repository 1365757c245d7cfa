/**
 * Runs vitest projects one after the other and closes with what failed in any of them, so that the end of a log tells
 * it, and one line over all of them: `N passed, N failed, N skipped`.
 * Usage: node tools/run-tests.ts PROJECT… [-- vitest arguments]
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface Outcome extends Counts {
  readonly failures: readonly string[];
}

/** The part of vitest's JSON report that is read here. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly FileReport[];
}

interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string; readonly failureMessages: readonly string[] }[];
}

/** Enough of a failure to know its cause; the whole of it stands further up in the log. */
const MESSAGE_LENGTH = 2_000;

const dashes = process.argv.indexOf("--");
const projects = process.argv.slice(2, dashes === -1 ? undefined : dashes);
const extra = dashes === -1 ? [] : process.argv.slice(dashes + 1);
if (projects.length === 0) {
  console.error("usage: node tools/run-tests.ts PROJECT… [-- vitest arguments]");
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), "agentbox-tests-"));
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
let broken = false;
try {
  for (const project of projects) {
    const report = join(folder, `${project}.json`);
    const code = await runVitest(project, report);
    const counts = await outcomeOf(report);
    // A runner that died before its report, or failed outside any test, is a failure even if no test says so.
    if (counts === undefined || (code !== 0 && counts.failed === 0)) broken = true;
    if (counts === undefined) continue;
    console.log(`${project}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
    failures.push(...counts.failures);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
if (broken && total.failed === 0) total.failed = 1;
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

function runVitest(project: string, report: string): Promise<number> {
  const vitest = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...extra];
  const child = spawn(process.execPath, args, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

async function outcomeOf(path: string): Promise<Outcome | undefined> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const report = JSON.parse(text) as Report;
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: report.testResults.flatMap(failuresOf),
  };
}

function failuresOf(file: FileReport): readonly string[] {
  const path = relative(process.cwd(), file.name);
  const failed = file.assertionResults.filter((result) => result.status === "failed");
  // A file that failed to load, or in a hook, fails without any of its tests.
  if (failed.length === 0 && file.status === "failed") return [`${path}\n${file.message.slice(0, MESSAGE_LENGTH)}`];
  return failed.map((result) => `${path} > ${result.fullName}\n${result.failureMessages.join("\n").slice(0, MESSAGE_LENGTH)}`);
}
