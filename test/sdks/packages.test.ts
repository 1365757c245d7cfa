/** The packages of `make packages`, installed into empty environments, run the examples of their own pages as printed. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { failureOf, printedExamples, type Ran, root, run, succeeds } from "./printed-examples.ts";

const { url, apiKey } = inject("sdkServer");
const env = { AGENTBOX_API_URL: url, AGENTBOX_API_KEY: apiKey };
/** A machine with other work needs minutes for an npm install. */
const patienceMs = 900_000;
const mypy = "mypy==2.4.1";

let folder = "";
let packages: readonly string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-sdks-"));
  await succeeds(run(process.execPath, ["tools/build-packages.ts", join(folder, "packages")], { cwd: root }));
  packages = (await readdir(join(folder, "packages"))).map((name) => join(folder, "packages", name));
}, patienceMs);
afterAll(() => rm(folder, { recursive: true, force: true }));

function packageNamed(end: string): string {
  const found = packages.find((path) => path.endsWith(end));
  if (found === undefined) throw new Error(`make packages made no ${end}`);
  return found;
}

/** What each example prints is part of the page's promise. */
interface Expected {
  readonly [heading: string]: (output: string) => void;
}

const common: Expected = {
  Sandboxes: (output) => {
    expect(output).toContain("0 42\nfrom outside");
    expect(output).toContain("2 notes/plan.txt");
  },
  "Many at once, and their history": (output) => expect(output.match(/ Completed /g)?.length ?? 0).toBeGreaterThanOrEqual(2),
  Errors: (output) => expect(output).toContain("no-such-pool"),
  "Pools, templates, Envs, limits": (output) => expect(output).toMatch(/^2\n/),
  "Checkpoints and forks": (output) => expect(output).toMatch(/prepared.*prepared.*\nprepared/),
};

describe("the npm package", async () => {
  const examples = await printedExamples("sdk/typescript/README.md", "ts");
  const place = (): string => join(folder, "node");
  const file = (at: number): string => `example-${at}.ts`;

  beforeAll(async () => {
    await mkdir(place());
    await writeFile(join(place(), "package.json"), JSON.stringify({ private: true, type: "module" }));
    const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--silent"];
    const wanted = [packageNamed(".tgz"), "typescript@7.0.2", "@types/node@26.6.6"];
    await succeeds(run("npm", ["install", ...flags, ...wanted], { cwd: place() }));
    for (const [at, { text }] of examples.entries()) await writeFile(join(place(), file(at)), text);
  }, patienceMs);

  test("its types accept every printed example, and are whole by themselves", { timeout: patienceMs }, async () => {
    const settings = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "esnext", "--types", "node"];
    const files = examples.map((_, at) => file(at));
    expect(failureOf(await run(join(place(), "node_modules/.bin/tsc"), [...settings, ...files], { cwd: place() }))).toBe("");
  });

  test.for(examples.map((example, at) => ({ ...example, at })))(
    "runs as printed: $heading",
    { timeout: patienceMs },
    async ({ heading, at }) => {
      expectRan(
        await run(process.execPath, [file(at)], { cwd: place(), env }),
        { ...common, "Changes as they happen": expectEnded }[heading],
      );
    },
  );
});

/** What needs no framework. */
const modules = ["client", "async_client", "sandbox", "async_sandbox", "commands", "errors", "api", "types"].map(
  (name) => `agentbox.${name}`,
);

describe("the wheel", async () => {
  const examples = await printedExamples("sdk/python/README.md", "python");
  const place = (): string => join(folder, "python");
  const program = (name: string): string => join(place(), "venv/bin", name);

  beforeAll(async () => {
    await mkdir(place());
    await succeeds(run("python3", ["-m", "venv", "venv"], { cwd: place() }));
    const wanted = ["--quiet", "--disable-pip-version-check", packageNamed(".whl"), mypy];
    await succeeds(run(program("pip"), ["install", ...wanted], { cwd: place() }));
    for (const [at, { text }] of examples.entries()) await writeFile(join(place(), `example_${at}.py`), text);
  }, patienceMs);

  test("its types accept every printed example, and its own code", { timeout: patienceMs }, async () => {
    for (const target of [...examples.map((_, at) => [`example_${at}.py`]), modules.flatMap((name) => ["-m", name])]) {
      const checked = await run(program("mypy"), ["--strict", "--follow-untyped-imports", ...target], { cwd: place() });
      expect(failureOf(checked)).toBe("");
    }
  });

  test.for(examples.map((example, at) => ({ ...example, at })))(
    "runs as printed: $heading",
    { timeout: patienceMs },
    async ({ heading, at }) => {
      const last = { "Asynchronous, and changes as they happen": expectEnded };
      expectRan(await run(program("python"), [`example_${at}.py`], { cwd: place(), env }), { ...common, ...last }[heading]);
    },
  );
});

function expectRan(ran: Ran, expected: ((output: string) => void) | undefined): void {
  expect(failureOf(ran)).toBe("");
  if (expected === undefined) throw new Error("the page has an example of which this test expects nothing");
  expected(ran.output);
}

function expectEnded(output: string): void {
  expect(output).toMatch(/^ended: \w+/m);
}
