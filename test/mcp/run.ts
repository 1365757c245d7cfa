/** `node test/mcp/run.ts`: all that the protocol's conformance suite requires of servers, of both revisions. Needs the npm registry once. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { conformanceProgram, installConformance } from "../conformance/install.ts";
import { startFixtureServer } from "./server.ts";

/**
 * Requests of the server to the client. Before 2026-07-28 they need a connection that one process keeps, and any process of ours answers any request; no tool of ours asks its client.
 */
const fromServer = ["tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"];

const revisions: Readonly<Record<string, readonly string[]>> = { "2026-07-28": [], "2025-11-25": fromServer };

interface Outcome {
  readonly scenario: string;
  readonly passed: boolean;
}

await installConformance();
await using server = await startFixtureServer();
let problems = 0;
for (const [revision, expected] of Object.entries(revisions)) {
  const outcomes = await runSuite(revision);
  const failed = outcomes.filter(({ passed }) => !passed).map(({ scenario }) => scenario);
  const unexpected = failed.filter((scenario) => !expected.includes(scenario));
  const mended = expected.filter((scenario) => !failed.includes(scenario));
  console.log(`${revision}: ${outcomes.length - failed.length} of ${outcomes.length} required scenarios`);
  for (const scenario of failed) console.log(`  ${scenario}: ${expected.includes(scenario) ? "fails, as is known" : "FAILS"}`);
  for (const scenario of mended) console.log(`  ${scenario}: passes now: take it off the list`);
  if (outcomes.length === 0) console.log("  the suite ran nothing");
  problems += unexpected.length + mended.length + (outcomes.length === 0 ? 1 : 0);
}
console.log(problems === 0 ? `${Object.keys(revisions).length} passed, 0 failed` : `0 passed, ${problems} failed`);
process.exitCode = problems === 0 ? 0 : 1;

/** Extensions and what is not part of a revision yet are run too, and named at the end of the output: they are left out here. */
async function runSuite(revision: string): Promise<readonly Outcome[]> {
  const args = [conformanceProgram(), "server", "--url", server.url, "--requirements", revision];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? "" }),
  );
  const notScored = new Set([...stdout.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, scenario]) => scenario));
  return [...stdout.matchAll(/^([✓✗]) (\S+): \d+ passed/gm)]
    .map(([, mark, scenario = ""]) => ({ scenario, passed: mark === "✓" }))
    .filter(({ scenario }) => !notScored.has(scenario));
}
