import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseDockerfile } from "#builds/dockerfile/parse-dockerfile.ts";
import { contextFiles, filesOf, ignoring } from "./context-files.ts";
import { planSteps } from "./plan-build.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-context-"));
  mkdirSync(join(folder, "src/deep"), { recursive: true });
  for (const name of ["a.txt", "b.md", "src/x.ts", "src/deep/y.ts", "src/keep.log"]) writeFileSync(join(folder, name), name);
  symlinkSync("a.txt", join(folder, "link"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const namesOf = async (source: string): Promise<readonly string[]> => filesOf(source, await contextFiles(folder)).map(({ name }) => name);

describe("files of a context", () => {
  test("a folder means all below it, and a pattern all that it fits", async () => {
    expect(await namesOf("src")).toEqual(["src", "src/deep", "src/deep/y.ts", "src/keep.log", "src/x.ts"]);
    expect(await namesOf("*.txt")).toEqual(["a.txt"]);
    expect(await namesOf("**/*.ts")).toEqual(["src/deep/y.ts", "src/x.ts"]);
    expect(await namesOf("nothing")).toEqual([]);
    expect((await namesOf(".")).length).toBe(8);
  });

  test("what .dockerignore names is left out, and what it lets in again is there", async () => {
    writeFileSync(join(folder, ".dockerignore"), "# a note\nsrc\n!src/keep.log\n*.md\n/link\n");
    expect(await namesOf(".")).toEqual([".dockerignore", "a.txt", "src/keep.log"]);
  });

  test("the last pattern that fits decides", () => {
    const isIgnored = ignoring("**/*.log\n!keep.log\ntmp/\n");
    expect(["x.log", "a/x.log", "keep.log", "tmp", "tmp/a", "tmpx"].map((name) => isIgnored(name))).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ]);
  });
});

describe("the hash of a COPY", () => {
  const hashOf = async (): Promise<string> =>
    (await planSteps(parseDockerfile("FROM x\nCOPY src /s"), await contextFiles(folder)))[2]?.files?.hash ?? "";

  test("is the same for the same files, and another with each change of a name, mode or content", async () => {
    const first = await hashOf();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    writeFileSync(join(folder, "a.txt"), "of no matter");
    expect(await hashOf()).toBe(first);
    writeFileSync(join(folder, "src/x.ts"), "src/x.TS");
    const second = await hashOf();
    chmodSync(join(folder, "src/x.ts"), 0o755);
    expect(new Set([first, second, await hashOf()]).size).toBe(3);
  });

  test("a source that is not there is an error with its line", async () => {
    await expect(planSteps(parseDockerfile("FROM x\n\nCOPY gone /s"), await contextFiles(folder))).rejects.toThrow(
      "Dockerfile line 3: the context has no gone",
    );
  });
});
