/** The programs that our pages show, as they are printed there, with what `agentbox env` says and nothing else. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { interpreterPythonProgram, jsModule, jsVersions, pythonProgram, pythonVersions } from "./install.ts";
import { type Mode, modes, processEnvironment } from "./server-under-test.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const patience = { timeout: 60_000 };

interface Printed {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

/** What the programs of a page say. */
const pages: Readonly<Record<string, RegExp>> = {
  "README.md": /^hello from .+\n/,
  "docs/e2b.md": /^hello from a file\n/,
  "docs/code-interpreter.md": /^21\n$/,
};
const printed: readonly Printed[] = (await Promise.all(Object.keys(pages).map(programsOf))).flat();

test("the first page has a program of five lines in each language", () => {
  const first = printed.filter(({ page }) => page === "README.md");
  expect(first.map(({ language, text }) => [language, text.trimEnd().split("\n").length])).toEqual([
    ["js", 5],
    ["python", 5],
  ]);
});

describe.each(modes)("by %s:", (mode) => {
  let env: NodeJS.ProcessEnv = {};

  beforeAll(async () => {
    const server = inject("conformance");
    const set = server.home === undefined ? {} : await saidBy(server.home, mode);
    env = { ...processEnvironment(server, mode), ...set };
  });

  test.each(printed)("the $language program of $page does what it says: $text", async ({ page, language, text }) => {
    const { stdout } = language === "js" ? await runJs(text, env) : await runPython(text, env);
    expect(stdout).toMatch(pages[page] ?? "");
  });
});

/** What a user gets to set. */
async function saidBy(home: string, mode: Mode): Promise<Record<string, string>> {
  const args = ["env", ...(mode === "hosts" ? ["--hosts"] : []), "-o", "json"];
  const { stdout } = await run(join(root, "bin/agentbox"), args, { env: { ...process.env, AGENTBOX_HOME: home } });
  return JSON.parse(stdout) as Record<string, string>;
}

function runPython(text: string, env: NodeJS.ProcessEnv): Promise<{ readonly stdout: string }> {
  const program = text.includes("e2b_code_interpreter") ? interpreterPythonProgram() : pythonProgram(pythonVersions[0]);
  return run(program, ["-c", text], { env, ...patience });
}

async function runJs(text: string, env: NodeJS.ProcessEnv): Promise<{ readonly stdout: string }> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-printed-"));
  try {
    await symlink(join(dirname(jsModule(jsVersions[0])), "../.."), join(folder, "node_modules"));
    await writeFile(join(folder, "program.mjs"), text);
    const names = join(import.meta.dirname, "local-names/lookup.ts");
    return await run(process.execPath, ["--import", names, "program.mjs"], { cwd: folder, env, ...patience });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function programsOf(page: string): Promise<readonly Printed[]> {
  const blocks = (await readFile(join(root, page), "utf8")).matchAll(/^```(js|python)\n(.*?)^```$/gms);
  return [...blocks].map(([, language = "", text = ""]) => ({ page, language, text }));
}
