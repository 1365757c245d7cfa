import { expect, test } from "vitest";
import { withoutImports } from "./javascript-imports.ts";

const load = (name: string): string => `await __agentboxImport(${name})`;

test.each([
  ['import fs from "fs"', `const { default: fs } = ${load('"fs"')}`],
  ["import { a, b as c } from 'm';", `const {  a, b: c  } = ${load("'m'")};`],
  ["import * as all from 'm'", `const all = ${load("'m'")}`],
  ["import d, { e } from 'm'", `const { default: d,  e  } = ${load("'m'")}`],
  ["import d, * as all from 'm'", `const all = ${load("'m'")}, { default: d } = all`],
  ["import 'm'", load("'m'")],
  ["x = await import('m')", "x = await __agentboxImport('m')"],
])("%s is an expression", (given, written) => {
  expect(withoutImports(given)).toBe(written);
});

test.each([
  "'import(1)'",
  "`import x from 'y'`",
  "// import a from 'b'",
  "/* import('x') */",
  "self.import('x')",
  "reimport('x')",
  "important",
])("%s stays as it is", (code) => {
  expect(withoutImports(code)).toBe(code);
});
