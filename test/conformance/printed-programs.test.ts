/** The programs that our pages show, as they are printed there, with what `agentbox env` says and nothing else. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, inject, test } from "vitest";
import { jsModule, jsVersions, pythonProgram, pythonVersions } from "./install.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const patience = { timeout: 60_000 };

interface Printed {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

const printed: readonly Printed[] = (await Promise.all(["README.md", "docs/e2b.md"].map(programsOf))).flat();

let environment: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  const { home } = inject("conformance");
  const { stdout } = await run(join(root, "bin/agentbox"), ["env", "-o", "json"], { env: { ...process.env, AGENTBOX_HOME: home } });
  environment = { ...process.env, ...(JSON.parse(stdout) as Record<string, string>) };
});

test("the first page has a program in each language", () => {
  expect(printed.filter(({ page }) => page === "README.md").map(({ language }) => language)).toEqual(["js", "python"]);
});

test.each(printed)("the $language program of $page does what it says: $text", async ({ language, text }) => {
  const { stdout } =
    language === "js" ? await runJs(text) : await run(pythonProgram(pythonVersions[0]), ["-c", text], { env: environment, ...patience });
  expect(stdout).toMatch(/^hello from .+\n/);
});

async function runJs(text: string): Promise<{ readonly stdout: string }> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-printed-"));
  try {
    await symlink(join(dirname(jsModule(jsVersions[0])), "../.."), join(folder, "node_modules"));
    await writeFile(join(folder, "program.mjs"), text);
    return await run(process.execPath, ["program.mjs"], { cwd: folder, env: environment, ...patience });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function programsOf(page: string): Promise<readonly Printed[]> {
  const blocks = (await readFile(join(root, page), "utf8")).matchAll(/^```(js|python)\n(.*?)^```$/gms);
  return [...blocks].map(([, language = "", text = ""]) => ({ page, language, text }));
}
