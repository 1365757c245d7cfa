import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { findProgram, refuseTooLong, refuseUnreadable } from "./find-program.ts";

const folder = mkdtempSync(join(tmpdir(), "agentbox-programs-"));
afterAll(() => rmSync(folder, { recursive: true }));
for (const name of ["first", "second"]) mkdirSync(join(folder, name));
for (const [file, mode] of Object.entries({ "first/plain": 0o644, "second/plain": 0o755, "second/tool": 0o755 })) {
  writeFileSync(join(folder, file), "");
  chmodSync(join(folder, file), mode);
}
mkdirSync(join(folder, "first/tool"));
const path = `${folder}/first:${folder}/second`;

test("the first file of PATH that may be run is it; folders and plain files are passed over", () => {
  expect(findProgram("tool", path)).toBe(`${folder}/second/tool`);
  expect(findProgram("plain", path)).toBe(`${folder}/second/plain`);
});

test("a name with a slash is taken as it is", () => {
  expect(findProgram(`${folder}/second/tool`, "")).toBe(`${folder}/second/tool`);
  expect(() => findProgram(`${folder}/first/plain`, path)).toThrow("may not be executed");
  expect(() => findProgram(`${folder}/first/tool`, path)).toThrow("is a directory");
  expect(() => findProgram(`${folder}/first/none`, path)).toThrow("there is no program");
});

test("the usual folders are searched when there is no PATH", () => {
  expect(findProgram("sh", undefined)).toMatch(/\/bin\/sh$/);
});

test("what is not there is said by its name", () => {
  expect(() => findProgram("nothing-of-the-kind", path)).toThrow('there is no program "nothing-of-the-kind" in PATH');
  expect(() => findProgram("", path)).toThrow("a command is needed");
});

test("what the kernel would refuse is refused before", () => {
  const refusal = (content: string): void => {
    const file = join(folder, "script");
    writeFileSync(file, content, { mode: 0o755 });
    refuseUnreadable(file);
  };
  expect(() => refusal("hello")).toThrow("not a program");
  expect(() => refusal("#! /no/such/perl -w\n")).toThrow('needs "/no/such/perl", which is not in the container');
  expect(() => refusal("#!/bin/sh\n")).not.toThrow();
  expect(() => refuseUnreadable(process.execPath)).not.toThrow();
});

test("an argument or variable may have 128 KiB with what the kernel adds to it", () => {
  const most = 128 * 1024 - 1;
  expect(() => refuseTooLong(["x".repeat(most)], { A: "y".repeat(most - 2) })).not.toThrow();
  expect(() => refuseTooLong(["x".repeat(most + 1)], {})).toThrow("128 KiB");
  expect(() => refuseTooLong(["x"], { A: "y".repeat(most - 1) })).toThrow("128 KiB");
  expect(() =>
    refuseTooLong(
      Array.from({ length: 20 }, () => "x".repeat(most)),
      {},
    ),
  ).toThrow("longer than the kernel takes");
});
