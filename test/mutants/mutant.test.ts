import { describe, expect, test } from "vitest";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Mutant, planted, sampled } from "./mutant.ts";
import { mutants } from "./mutants.ts";

const aMutant = (find: string, replace = "x"): Mutant => ({ bug: "it is wrong", file: "a.ts", find, replace, tests: ["a.test.ts"] });

describe("a bug is planted", () => {
  test("in the one place that the list names", () => {
    expect(planted(aMutant("b > 1", "b >= 1"), "a; b > 1; c")).toBe("a; b >= 1; c");
  });

  test("with a text that looks like a pattern of String.replace, as it is", () => {
    expect(planted(aMutant("b", "$& $1"), "a b c")).toBe("a $& $1 c");
  });

  test.each([
    ["that is gone", "z", "x"],
    ["that is there twice", "a", "x"],
    ["that stays as it was", "b", "b"],
  ])("not in a place %s: the list is out of date", (_, find, replace) => {
    expect(() => planted(aMutant(find, replace), "a b a")).toThrow(/a\.ts/);
  });
});

test("every bug of the list has its place in the code as it is now", async () => {
  const root = join(import.meta.dirname, "../..");
  const outOfDate: string[] = [];
  for (const mutant of mutants) {
    try {
      planted(mutant, await readFile(join(root, mutant.file), "utf8"));
    } catch (error) {
      outOfDate.push(String(error));
    }
  }
  expect(outOfDate).toEqual([]);
});

describe("a sample", () => {
  const all = Array.from({ length: 100 }, (_, index) => aMutant(`place ${index}`));

  test("has as many as were asked for, in the order of the list, and is the same for the same seed", () => {
    const chosen = sampled(all, 8, "0a1b");
    expect(chosen).toHaveLength(8);
    expect(chosen.map((mutant) => all.indexOf(mutant))).toEqual(chosen.map((mutant) => all.indexOf(mutant)).toSorted((a, b) => a - b));
    expect(sampled(all, 8, "0a1b")).toEqual(chosen);
  });

  test("comes to every bug with time", () => {
    const seen = new Set(Array.from({ length: 200 }, (_, seed) => sampled(all, 8, String(seed))).flat());
    expect(seen.size).toBe(100);
  });
});
