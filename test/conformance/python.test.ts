/** The cases of cases.py, each a test here; they run in one process for every SDK, because starting one takes as long as all of them. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";
import type { Mode } from "./describe-sdks.ts";
import type { ServerUnderTest } from "./global-setup.ts";
import { pythonProgram, type PythonVersion, pythonVersions } from "./install.ts";

const run = promisify(execFile);
const script = join(import.meta.dirname, "cases.py");
const patienceMs = 180_000;
const names = (await run("python3", [script, "list"])).stdout.trim().split("\n");

interface Outcome {
  readonly name: string;
  readonly error?: string;
}

const variants: readonly (readonly [PythonVersion, "sync" | "async", Mode])[] = [
  ...pythonVersions.flatMap((version) => [[version, "sync", "headers"] as const, [version, "async", "headers"] as const]),
  ["2.63.0", "sync", "hosts"],
  ["2.63.0", "async", "hosts"],
  ["2.7.0", "sync", "hosts"],
];

for (const [version, face, mode] of variants) {
  describe(`Python e2b ${version}, ${face}, by ${mode}`, () => {
    const outcomes = new Map<string, Outcome>();

    beforeAll(async () => {
      const options = { env: { ...process.env, ...environment(inject("conformance"), mode) }, timeout: patienceMs };
      const { stdout } = await run(pythonProgram(version), [script, face], options).catch(
        // Whatever was not said before it failed is missed by the tests below.
        (error: unknown) => error as { readonly stdout: string },
      );
      for (const line of stdout.split("\n").filter((text) => text.startsWith("{"))) {
        const outcome = JSON.parse(line) as Outcome;
        outcomes.set(outcome.name, outcome);
      }
    }, patienceMs + 10_000);

    const limits = limitsOf(version, mode);
    test.each(names.filter((name) => !limits.includes(name)))("%s", (name) => {
      expect(outcomes.get(name)).toEqual({ name });
    });
    test.for(limits)("not by headers, because this SDK sends none after connecting: %s", (name) => {
      expect(outcomes.get(name)?.error).toContain("the request names no sandbox");
    });
  });
}

/** What an SDK cannot do whatever the server is. */
function limitsOf(version: PythonVersion, mode: Mode): readonly string[] {
  if (version !== "2.7.0" || mode === "hosts") return [];
  return ["another program connects to it and sees the same files", "a paused sandbox keeps its processes, and goes on where it was"];
}

function environment(server: ServerUnderTest, mode: Mode): Readonly<Record<string, string>> {
  const { apiKey, apiUrl, gatewayUrl, domain, authorityFile } = server;
  const common = { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl };
  if (mode === "headers") return { ...common, E2B_SANDBOX_URL: gatewayUrl };
  return { ...common, E2B_DOMAIN: domain, SSL_CERT_FILE: authorityFile, PYTHONPATH: join(import.meta.dirname, "local-names") };
}
