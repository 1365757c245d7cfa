/** Each framework of docs/frameworks.md in an environment of its own: its block as printed, and its own suite for sandboxes. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { failureOf, printedExamples, root, run, succeeds } from "../sdks/printed-examples.ts";

const { url, gatewayUrl, apiKey } = inject("sdkServer");
const env = {
  AGENTBOX_API_URL: url,
  AGENTBOX_API_KEY: apiKey,
  E2B_API_URL: url,
  E2B_SANDBOX_URL: gatewayUrl,
  E2B_API_KEY: apiKey,
};
const patienceMs = 1_200_000;

interface Framework {
  /** The heading of its block. */
  readonly heading: string;
  readonly packages: readonly string[];
  readonly needsOurs?: true;
  readonly prints: RegExp;
  readonly suite?: { readonly file: string; readonly without: readonly string[]; readonly passed: number };
}

const pytest = ["pytest==9.2.0", "pytest-asyncio==1.5.0"];

const frameworks: readonly Framework[] = [
  {
    heading: "Inspect",
    packages: ["inspect_ai==0.3.285", ...pytest],
    needsOurs: true,
    prints: /^success 1\.0$/m,
    // A command of 1 MiB, which has no room for its environment.
    suite: { file: "test_inspect_ai.py", without: ["test_exec_large_command"], passed: 43 },
  },
  {
    heading: "LangChain Deep Agents",
    packages: ["deepagents==0.7.32", "langchain-tests==1.1.9", "langchain-e2b==0.0.6", ...pytest],
    prints: /^from the agent$/m,
    suite: { file: "test_deepagents.py", without: [], passed: 86 },
  },
  { heading: "smolagents", packages: ["smolagents==1.26.0", "e2b-code-interpreter==2.11.5"], prints: /^6\n42$/m },
];

let folder = "";
let wheel = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-frameworks-"));
  await succeeds(run(process.execPath, ["tools/build-packages.ts", join(folder, "packages")], { cwd: root }));
  const name = (await readdir(join(folder, "packages"))).find((one) => one.endsWith(".whl"));
  wheel = join(folder, "packages", name ?? "");
}, patienceMs);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(frameworks)("$heading", ({ heading, packages, needsOurs, prints, suite }) => {
  const place = (): string => join(folder, heading.replaceAll(" ", "-"));
  const program = (name: string): string => join(place(), "venv/bin", name);

  beforeAll(async () => {
    await mkdir(place());
    await succeeds(run("python3", ["-m", "venv", "venv"], { cwd: place() }));
    const wanted = [...packages, ...(needsOurs === true ? [wheel] : [])];
    await succeeds(run(program("pip"), ["install", "--quiet", "--disable-pip-version-check", ...wanted], { cwd: place() }));
  }, patienceMs);

  test("its block runs as printed", { timeout: patienceMs }, async () => {
    const blocks = (await printedExamples("docs/frameworks.md", "python")).filter((block) => block.heading === heading);
    expect(blocks).toHaveLength(1);
    await writeFile(join(place(), "example.py"), blocks[0]?.text ?? "");
    const ran = await run(program("python"), ["example.py"], { cwd: place(), env });
    expect(failureOf(ran)).toBe("");
    expect(ran.output).toMatch(prints);
  });

  test.skipIf(suite === undefined)("its own suite passes", { timeout: patienceMs }, async () => {
    const { file = "", without = [], passed = 0 } = suite ?? {};
    const not = without.flatMap((name) => ["--deselect", `${file}::${name}`]);
    const options = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "--rootdir", "."];
    const ran = await run(program("python"), ["-m", "pytest", ...options, ...not, file], {
      cwd: join(root, "test/frameworks/suites"),
      env: { ...env, PYTHONDONTWRITEBYTECODE: "1" },
    });
    expect(failureOf(ran)).toBe("");
    expect(ran.output).toMatch(new RegExp(`^${passed} passed`, "m"));
  });
});
