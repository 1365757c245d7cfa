/**
 * Runs vitest projects one after the other and closes with one line over all of them: `N passed, N failed, N skipped`.
 * Usage: node tools/run-tests.ts PROJECT… [-- vitest arguments]
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const dashes = process.argv.indexOf("--");
const projects = process.argv.slice(2, dashes === -1 ? undefined : dashes);
const extra = dashes === -1 ? [] : process.argv.slice(dashes + 1);
if (projects.length === 0) {
  console.error("usage: node tools/run-tests.ts PROJECT… [-- vitest arguments]");
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), "agentbox-tests-"));
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
let broken = false;
try {
  for (const project of projects) {
    const report = join(folder, `${project}.json`);
    const code = await runVitest(project, report);
    const counts = await countsOf(report);
    // A runner that died before its report, or failed outside any test, is a failure even if no test says so.
    if (counts === undefined || (code !== 0 && counts.failed === 0)) broken = true;
    if (counts === undefined) continue;
    console.log(`${project}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
if (broken && total.failed === 0) total.failed = 1;
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

async function countsOf(report: string): Promise<Counts | undefined> {
  const text = await readFile(report, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const json = JSON.parse(text) as { numPassedTests: number; numFailedTests: number; numPendingTests: number; numTodoTests: number };
  return { passed: json.numPassedTests, failed: json.numFailedTests, skipped: json.numPendingTests + json.numTodoTests };
}
