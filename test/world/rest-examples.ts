/** The examples of docs/rest-api.md, run unchanged: for every engine with nodes that freeze, with a template and a pool `base`. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { SystemUnderTest } from "./sandbox-stories.ts";

const page = readFileSync(new URL("../../docs/rest-api.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, lines = ""]) => lines);

/** All in one shell, as a reader would; every command is shown before it runs, and the first that fails ends it. */
function run(script: string, env: Readonly<Record<string, string>>): Promise<{ readonly failed: boolean; readonly output: string }> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env["PATH"] ?? "", ...env }, timeout: 90_000 };
    execFile("bash", ["-euxo", "pipefail", "-c", script], options, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: `${stdout}\n${stderr}` }),
    );
  });
}

/** `open`: one that is not started yet. */
export function describeRestExamples(open: () => Promise<SystemUnderTest>): void {
  test("every example of the page about the API works", async () => {
    expect(examples.length).toBeGreaterThan(8);
    await using up = await open();
    await up.start();
    const { url, apiKey } = await up.access();
    const { failed, output } = await run(examples.join("\n"), { AGENTBOX_API_URL: url, AGENTBOX_API_KEY: apiKey });
    expect(failed ? output : "").toBe("");
    expect(output).toContain('"stdout":"hi\\n"');
    expect(output).toContain("event: sandbox");
    expect(output).toContain('"code":"not_found"');
  });
}
