/** The tutorial, walked as it is printed: its shell commands in one shell, its programs with the newest SDKs. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { expect, inject, test } from "vitest";
import { debianRoot } from "../world/debian-root.ts";
import { jsModule, jsVersions, pythonProgram, pythonVersions } from "./install.ts";

const root = join(import.meta.dirname, "../..");
const patienceMs = 600_000;

interface Block {
  readonly language: string;
  readonly text: string;
}

/** What a reader types or saves; blocks marked `console` are fetched from elsewhere, or are output. */
async function blocksOfPage(): Promise<readonly Block[]> {
  const page = await readFile(join(root, "docs/tutorial.md"), "utf8");
  return Array.from(page.matchAll(/^```(sh|js|python)\n(.*?)^```$/gms), ([, language = "", text = ""]) => ({ language, text }));
}

/** Programs are run where the page tells the reader to save them. */
function commandOf({ language, text }: Block): string {
  if (language === "js") return `"${process.execPath}" agent.mjs`;
  if (language === "python") return `"${pythonProgram(pythonVersions[0])}" agent.py`;
  return text;
}

/** The first command that fails ends it. */
function walk(script: string, cwd: string, home: string): Promise<{ readonly failed: boolean; readonly output: string }> {
  const path = [join(root, "bin"), dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const others = Object.entries(process.env).filter(([name]) => !/^(?:E2B|AGENTBOX)_/.test(name));
  const env = { ...Object.fromEntries(others), PATH: path, AGENTBOX_HOME: home };
  return new Promise((resolve) => {
    execFile("bash", ["-euxo", "pipefail", "-c", script], { cwd, env, timeout: patienceMs }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: `${stdout}\n${stderr}` }),
    );
  });
}

test("the tutorial works as it is printed", { timeout: patienceMs + 60_000 }, async (context) => {
  const { home } = inject("conformance");
  if (home === undefined) return context.skip("the tutorial is about a server on this machine");
  const debian = debianRoot();
  if (debian === undefined) return context.skip("debootstrap or a mirror of Debian is missing");
  const blocks = await blocksOfPage();
  expect(blocks.map(({ language }) => language).filter((language) => language !== "sh")).toEqual(["js", "python"]);

  const folder = await mkdtemp(join(tmpdir(), "agentbox-tutorial-"));
  try {
    execFileSync("cp", ["--archive", debian, join(folder, "root")]);
    await symlink(join(dirname(jsModule(jsVersions[0])), "../.."), join(folder, "node_modules"));
    for (const { language, text } of blocks)
      if (language !== "sh") await writeFile(join(folder, language === "js" ? "agent.mjs" : "agent.py"), text);

    const { failed, output } = await walk(blocks.map(commandOf).join("\n"), folder, home);
    expect(failed ? output : "").toBe("");
    expect(output.match(/^exit code 0\n {6}2 be\n {6}2 to$/gm)).toHaveLength(2);
    expect(output).toContain("a failed command is an exception: exit code 127");
    expect(output).toContain("reason: OOMKilled");
    expect(output).toContain("words, version 2");
  } finally {
    await rm(folder, { recursive: true });
  }
});
