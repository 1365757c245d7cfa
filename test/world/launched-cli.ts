/** The command line as a process of its own, as its users have it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Said } from "./run-cli.ts";

const launcher = join(import.meta.dirname, "../../bin/agentbox");

export function launchedCli(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Said> {
  return new Promise((resolve) => {
    execFile(launcher, [...args], { env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
    });
  });
}
