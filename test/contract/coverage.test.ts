/** docs/COVERAGE.md names files that are there, and for each name of the specification a test, or a reason why there is nothing to test. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = readFileSync(`${root}docs/COVERAGE.md`, "utf8");

/** Files of this repository between backticks; a star stands for any name. */
const files = [...new Set(Array.from(page.matchAll(/`((?:src|test|bench|deploy|tools)\/[^`\s]+)`/g), ([, file = ""]) => file))];

interface Row {
  readonly name: string;
  readonly ours: string;
  readonly test: string;
}

/** Rows of tables with the columns name, what it is, ours, test. */
const rows: readonly Row[] = Array.from(page.matchAll(/^\| ([^|\n]+) \| [^|\n]+ \| ([^|\n]+) \| ([^|\n]+) \|$/gm), (cells) => ({
  name: cells[1] ?? "",
  ours: cells[2] ?? "",
  test: cells[3] ?? "",
})).filter(({ name }) => name !== "name" && !name.startsWith("-"));

const exists = (file: string): boolean => globSync(file, { cwd: root }).length > 0;
const namesFile = (cell: string): boolean => /`(?:src|test)\/[^`]+`/.test(cell);
const namesTest = (cell: string): boolean => /`(?:src|test)\/[^`]+\.test\.ts`/.test(cell);

describe("docs/COVERAGE.md", () => {
  test("has a row for every part of the specification, each with a file and a test", () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter(({ ours, test: held }) => !(namesFile(ours) || ours === "the same") || !namesTest(held))).toEqual([]);
  });

  test.each(files)("%s is there", (file) => {
    expect(exists(file)).toBe(true);
  });

  test("a test that it quotes has such a name", () => {
    const quoted = Array.from(page.matchAll(/`((?:src|test)\/[^`\s*]+\.test\.ts)` "([^"]+)"/g), ([, file = "", name = ""]) => ({
      file,
      name,
    }));
    const lost = quoted.filter(({ file, name }) => exists(file) && !readFileSync(`${root}${file}`, "utf8").includes(name));
    expect([quoted.length > 5, lost]).toEqual([true, []]);
  });
});
