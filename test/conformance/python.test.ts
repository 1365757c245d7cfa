/** The cases of python/, each a test here; they run in one process for every SDK, because starting one takes as long as all of them. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { anOutside, outsidePort } from "../node/isolation/outside.ts";
import { describeNeeding } from "./describe-sdks.ts";
import { interpreterPythonProgram, interpreterVersions, pythonProgram, type PythonVersion, pythonVersions } from "./install.ts";
import { type Ability, type Mode, modes, processEnvironment } from "./server-under-test.ts";

const run = promisify(execFile);
const script = join(import.meta.dirname, "python/run_cases.py");
const patienceMs = 400_000;
const { without } = inject("conformance");
const outside = without.includes("egress") ? undefined : anOutside();

interface Case {
  readonly name: string;
  readonly needs?: Ability;
}

interface Outcome {
  readonly name: string;
  readonly error?: string;
  readonly skipped?: string;
}

interface PythonSdk {
  readonly suite: "e2b" | "e2b_code_interpreter";
  readonly version: string;
  readonly program: string;
  readonly limits: (mode: Mode) => readonly string[];
  readonly needs?: Ability;
}

const sdks: readonly PythonSdk[] = [
  ...pythonVersions.map((version) => ({
    suite: "e2b" as const,
    version,
    program: pythonProgram(version),
    limits: (mode: Mode) => limitsOf(version, mode),
  })),
  {
    suite: "e2b_code_interpreter",
    version: interpreterVersions.python,
    program: interpreterPythonProgram(),
    limits: () => [],
    needs: "interpreter",
  },
];

for (const sdk of sdks) {
  const cases = await casesOf(sdk.suite);
  for (const mode of modes) {
    describeNeeding(sdk.needs, `Python ${sdk.suite} ${sdk.version}, sync, by ${mode}`, () => describeFace(sdk, cases, "sync", mode));
    describeNeeding(sdk.needs, `Python ${sdk.suite} ${sdk.version}, async, by ${mode}`, () => describeFace(sdk, cases, "async", mode));
  }
}

function describeFace({ suite, program, limits }: PythonSdk, cases: readonly Case[], face: "sync" | "async", mode: Mode): void {
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    const [first, second] = [outside?.publicAddress, outside?.secondPublicAddress];
    const env = { ...processEnvironment(inject("conformance"), mode), AGENTBOX_CONFORMANCE_OUTSIDE: `${first},${second},${outsidePort}` };
    const options = { env, timeout: patienceMs };
    const { stdout } = await run(program, [script, suite, face, ...without], options).catch(
      // Whatever was not said before it failed is missed by the tests below.
      (error: unknown) => error as { readonly stdout: string },
    );
    for (const line of stdout.split("\n").filter((text) => text.startsWith("{"))) {
      const outcome = JSON.parse(line) as Outcome;
      outcomes.set(outcome.name, outcome);
    }
  }, patienceMs + 10_000);

  const cannot = limits(mode);
  const wanted = cases.filter(({ name, needs }) => !cannot.includes(name) && (needs === undefined || !without.includes(needs)));
  test.for(wanted)("$name", ({ name }, { skip }) => {
    const outcome = outcomes.get(name);
    skip(outcome?.skipped !== undefined, outcome?.skipped);
    expect(outcome).toEqual({ name });
  });
  test.for(cannot)("not by headers, because this SDK names no sandbox in the request: %s", (name) => {
    expect(outcomes.get(name)?.error).toMatch(/the request names no sandbox|HTTP Error 400/);
  });
}

async function casesOf(suite: string): Promise<readonly Case[]> {
  const { stdout } = await run("python3", [script, suite, "list"]);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Case);
}

/** What an SDK cannot do by headers whatever the server is. */
function limitsOf(version: PythonVersion, mode: Mode): readonly string[] {
  if (mode === "hosts") return [];
  const signed = ["files are fetched and sent by an address alone"];
  if (version !== "2.7.0") return signed;
  return [
    ...signed,
    "another program connects to it and sees the same files",
    "a paused sandbox keeps its processes, and goes on where it was",
    "one that is made to pause does so when its time is over, and keeps its processes",
  ].filter((name) => !without.includes("pausing") || !name.includes("pause"));
}
