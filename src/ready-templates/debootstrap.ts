/** A Debian root file system from the archive that this machine uses. */
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export const usualMirror = "http://deb.debian.org/debian";

/** The first of apt's archives that is Debian's own. */
export async function mirrorOfMachine(): Promise<string> {
  return (await archiveOfMachine("debian")) ?? usualMirror;
}

/** Where a suite gets its packages and their corrections from, by what this machine uses, as lines of a sources.list. */
export async function aptLines(suite: string): Promise<readonly string[]> {
  const mirror = await mirrorOfMachine();
  const security = (await archiveOfMachine("debian-security")) ?? (mirror === usualMirror ? `${usualMirror}-security` : undefined);
  return [
    `deb ${mirror} ${suite} main`,
    `deb ${mirror} ${suite}-updates main`,
    // A mirror of one's own may be all that this machine can reach.
    ...(security === undefined ? [] : [`deb ${security} ${suite}-security main`]),
  ];
}

async function archiveOfMachine(name: "debian" | "debian-security"): Promise<string | undefined> {
  const { stdout } = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).catch(() => ({
    stdout: "",
  }));
  const found = stdout.split("\n").find((uri) => /^https?:\/\//.test(uri) && uri.replace(/\/$/, "").endsWith(`/${name}`));
  return found?.replace(/\/$/, "");
}

/** Runs debootstrap and names its stages; `env` is for it and the scripts of packages. Fails with the end of its output. */
export async function debootstrap(
  args: readonly string[],
  say: (text: string) => void,
  { env = {}, signal }: { readonly env?: Readonly<Record<string, string>>; readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const child = spawn("debootstrap", args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env }, signal });
  let last = "";
  child.stdout.on("data", (chunk: Buffer) => {
    last = `${last}${chunk.toString()}`.slice(-2000);
    // Hundreds of lines; these are its stages.
    for (const [, stage] of chunk.toString().matchAll(/^I: (.*(?:packages|base system)\.\.\.)$/gm)) say(stage ?? "");
  });
  child.stderr.on("data", (chunk: Buffer) => (last = `${last}${chunk.toString()}`.slice(-2000)));
  const code = await new Promise<number | string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("exit", (status, name) => resolve(status ?? name ?? 1));
  });
  signal?.throwIfAborted();
  if (code === "spawn debootstrap ENOENT") throw new Error("debootstrap is not on this machine: apt-get install -y debootstrap");
  if (code !== 0) throw new Error(`debootstrap failed (${code}):\n${last}`);
}
