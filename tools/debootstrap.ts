/** A Debian root file system from the archive that this machine uses. */
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export const usualMirror = "http://deb.debian.org/debian";

/** The first of apt's archives that is Debian's own. */
export async function mirrorOfMachine(): Promise<string> {
  const { stdout } = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).catch(() => ({
    stdout: "",
  }));
  const found = stdout.split("\n").find((uri) => /^https?:\/\/.*\/debian\/?$/.test(uri));
  return found?.replace(/\/$/, "") ?? usualMirror;
}

/** Runs debootstrap and names its stages. Fails with the end of its output. */
export async function debootstrap(args: readonly string[], say: (text: string) => void): Promise<void> {
  const child = spawn("debootstrap", args, { stdio: ["ignore", "pipe", "pipe"] });
  let last = "";
  child.stdout.on("data", (chunk: Buffer) => {
    last = `${last}${chunk.toString()}`.slice(-2000);
    // Hundreds of lines; these are its stages.
    for (const [, stage] of chunk.toString().matchAll(/^I: (.*(?:packages|base system)\.\.\.)$/gm)) say(stage ?? "");
  });
  child.stderr.on("data", (chunk: Buffer) => (last = `${last}${chunk.toString()}`.slice(-2000)));
  const code = await new Promise<number | string>((resolve) => {
    child.on("error", (error) => resolve(`${error.message}; install it with: apt-get install -y debootstrap`));
    child.on("exit", (status, signal) => resolve(status ?? signal ?? 1));
  });
  if (code !== 0) throw new Error(`debootstrap failed (${code}):\n${last}`);
}
