/** What we promise is held by tests that are there; what the original does wrong is tested against by number. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Promised {
  readonly number: string;
  /** `file` and the name of a test in it, or a part of the name. */
  readonly tests: readonly (readonly [file: string, name: string])[];
}

/** A promise is a heading with its number; each line `- held by `file`: "name"` below it names a test. */
function promises(): Promised[] {
  const parts = read("docs/SPECIFICATION.md").split(/^### /m).slice(1);
  return parts.map((part) => ({
    number: /^P\d+/.exec(part)?.[0] ?? part.split("\n", 1)[0] ?? "",
    tests: Array.from(part.matchAll(/^- held by `([^`]+)`: "(.+)"$/gm), ([, file = "", name = ""]) => [file, name] as const),
  }));
}

describe("docs/SPECIFICATION.md", () => {
  const all = promises();

  test("has at least fifteen promises, numbered in order", () => {
    expect(all.length).toBeGreaterThanOrEqual(15);
    expect(all.map(({ number }) => number)).toEqual(all.map((_, index) => `P${index + 1}`));
  });

  test.each(all)("$number names tests that are there", ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter(([file, name]) => !read(file).includes(name))).toEqual([]);
  });
});

/** Those of the original that its pools, claims and endings have; the others come with the parts that they are about. */
const weaknesses = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 19, 26, 27, 28, 31];

test.each(weaknesses)("W%i has a test that is named after it", (number) => {
  const files = globSync("{src,test}/**/*.test.ts", { cwd: root }).filter((file) => !file.endsWith("specification.test.ts"));
  const named = new RegExp(String.raw`(test|describe|it)[^\n]*\(\s*(\n\s*)?["\x60][^"\x60\n]*\bW${number}\b`);
  expect(files.filter((file) => named.test(read(file)))).not.toEqual([]);
});
