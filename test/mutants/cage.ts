/** A throw-away copy of the tree and the namespaces that its tests run in: a planted bug reaches neither files, processes nor networks of the machine. */
import { spawn, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

export const root = join(import.meta.dirname, "../..");

/** Copies what is under version control, as it is now, and what is about to be. */
export function copyTree(to: string): void {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  for (const file of listed.split("\0").filter((name) => name !== "" && existsSync(join(root, name)))) {
    mkdirSync(join(to, dirname(file)), { recursive: true });
    cpSync(join(root, file), join(to, file), { verbatimSymlinks: true, force: true });
  }
}

export interface Ended {
  /** Undefined when it was still running at its time limit. */
  readonly code: number | undefined;
  readonly output: string;
}

/** With the end of this process, or at the limit, all that runs in the cage ends too: it is its first process that is killed. */
export function runCaged(tree: string, command: readonly string[], limitMs: number): Promise<Ended> {
  const namespaces = ["--mount", "--pid", "--ipc", "--uts", "--net", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const cage = [join(import.meta.dirname, "cage.sh"), tree, realpathSync(join(root, "node_modules"))];
  const child = spawn("unshare", [...asRoot, ...namespaces, ...cage, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, limitMs);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(limit);
      resolve({ code: isLate ? undefined : (code ?? 1), output });
    });
  });
}
