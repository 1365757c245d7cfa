/**
 * What we promise is held by tests that run; what the original does wrong is tested against by number, or has a reason. Vitest itself says
 * which tests there are: one that is skipped, commented out or renamed holds nothing.
 */
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");
/** This file: the names in it hold nothing. */
const here = "test/contract/specification.test.ts";
const specification = read("docs/SPECIFICATION.md");

interface Promised {
  readonly number: string;
  /** `file` and the name of a test in it, or a part of the name; `%s` and the like stand for anything. */
  readonly tests: readonly (readonly [file: string, name: string])[];
}

/** A promise is a heading with its number; each line `- held by `file`: "name"` below it names a test. */
function promises(): Promised[] {
  const parts = specification.split(/^### /m).slice(1);
  return parts.map((part) => ({
    number: /^P\d+/.exec(part)?.[0] ?? part.split("\n", 1)[0] ?? "",
    tests: Array.from(part.matchAll(/^- held by `([^`]+)`: "(.+)"$/gm), ([, file = "", name = ""]) => [file, name] as const),
  }));
}

/** Rows `| W3 | why |`, with a why. */
const reasons = new Set(Array.from(specification.matchAll(/^\| W(\d+) \| .*\w{3}.* \|$/gm), ([, number]) => Number(number)));

/** Rows of docs/weaknesses.md: the number, and the test in the last column. */
const table = Array.from(
  read("docs/weaknesses.md").matchAll(/^\| (W\d+) \| .*\w{3}.* \| `([^`]+)` "(.+)" \|$/gm),
  ([, number = "", file = "", name = ""]) => ({
    number,
    named: [file, name] as const,
  }),
);

const all = promises();
const weaknesses = Array.from({ length: 31 }, (_, index) => index + 1);
/** Real containers: without root these are not run, and nothing is known of them. */
const asRoot = process.getuid?.() === 0;
const takesRoot = /^test\/(?:node|envd|images|fuzz)\//;
const onCluster = /^test\/cluster\//;

/** File to the full names of the tests that would run. */
const collected = new Map<string, string[]>();
const folder = mkdtempSync(join(tmpdir(), "agentbox-listed-"));

beforeAll(async () => {
  const mentioned = globSync("{src,test}/**/*.test.ts", { cwd: root }).filter((file) => /\bW\d+\b/.test(read(file)) && file !== here);
  const tabled = table.map(({ named: [file] }) => file);
  const files = [...new Set([...all.flatMap(({ tests }) => tests.map(([file]) => file)), ...tabled, ...mentioned])];
  const loadable = files.filter((file) => !onCluster.test(file) && (asRoot || !takesRoot.test(file)));
  // A cluster's files are only read, not loaded: listing them by loading would start it.
  await Promise.all([
    list("loaded", ["--staticParse=false", "--no-isolate", "--project=unit", "--project=contract", "--project=node", ...loadable]),
    list("read", ["--project=cluster", ...files.filter((file) => onCluster.test(file))]),
  ]);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

async function list(name: string, args: readonly string[]): Promise<void> {
  const output = join(folder, `${name}.json`);
  const env = Object.fromEntries(Object.entries(process.env).filter(([variable]) => !variable.startsWith("VITEST")));
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  await promisify(execFile)(process.execPath, [vitest, "list", ...args, `--json=${output}`], { cwd: root, env });
  for (const { file, name: fullName } of JSON.parse(readFileSync(output, "utf8")) as { file: string; name: string }[]) {
    const path = relative(root, file);
    collected.set(path, [...(collected.get(path) ?? []), fullName]);
  }
}

function isThere([file, name]: readonly [string, string]): boolean {
  const parts = name.split(/%[a-z]|\$[a-zA-Z.]+/).map((part) => RegExp.escape(part));
  const pattern = new RegExp(parts.join(".*"), "s");
  return collected.get(file)?.some((fullName) => pattern.test(fullName)) === true;
}

describe("docs/SPECIFICATION.md", () => {
  test("has at least fifteen promises, numbered in order", () => {
    expect(all.length).toBeGreaterThanOrEqual(15);
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => `P${index + 1}`));
  });

  test.each(all)("$number is held by tests that run", ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    const known = tests.filter(([file]) => asRoot || !takesRoot.test(file));
    expect(known.filter((named) => !isThere(named))).toEqual([]);
  });
});

test.each(weaknesses)("W%i has a test that runs and is named after it, or a reason in docs/SPECIFICATION.md", (number) => {
  const named = collected.values().some((tests) => tests.some((name) => new RegExp(String.raw`\bW${number}\b`).test(name)));
  expect({ named, hasReason: reasons.has(number) }).toEqual({ named, hasReason: !named });
});

test("docs/weaknesses.md has a row for every number in order, each with a test that runs", () => {
  expect(table.map(({ number }) => number)).toEqual(weaknesses.map((number) => `W${number}`));
  expect(table.map(({ named }) => named).filter((named) => !isThere(named))).toEqual([]);
});
