/** The examples of a page, as they are printed, and what runs them. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** The blocks of one language, with the heading that each stands under. */
export async function printedExamples(
  page: string,
  language: string,
): Promise<readonly { readonly heading: string; readonly text: string }[]> {
  const text = await readFile(join(root, page), "utf8");
  return text
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [heading = ""] = section.split("\n", 1);
      const blocks = Array.from(section.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms")), ([, block = ""]) => block);
      return blocks.map((block) => ({ heading, text: block }));
    });
}

export interface Ran {
  readonly failed: boolean;
  readonly output: string;
}

export interface Run {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Without the settings of this process that a clean environment does not have. */
export function run(program: string, args: readonly string[], { cwd, env = {}, timeoutMs = 900_000 }: Run): Promise<Ran> {
  const others = Object.entries(process.env).filter(([name]) => !/^(?:E2B|AGENTBOX|NODE_|PYTHON|VITEST)/.test(name));
  const options = { cwd, env: { ...Object.fromEntries(others), ...env }, timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(program, [...args], options, (error, stdout, stderr) => resolve({ failed: error !== null, output: `${stdout}\n${stderr}` }));
  });
}

/** The output, only if it failed: what a test expects to be empty. */
export function failureOf({ failed, output }: Ran): string {
  return failed ? output : "";
}

export async function succeeds(running: Promise<Ran>): Promise<void> {
  const { failed, output } = await running;
  if (failed) throw new Error(output);
}
