/**
 * Runs a script as root of a system that lies in folders, one over the other. What it changes goes into the uppermost folder. All mounts are in a
 * namespace of their own, and end with the script however that ends; so do its processes.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findCertificates } from "./machine-settings.ts";

export interface RootRun {
  /** The folder in which all others are. */
  readonly parent: string;
  /** Names of the folders below, lowest first. */
  readonly lowers: readonly string[];
  /** Name of the folder for what is needed while it runs, and in which `upper` is what has changed. */
  readonly work: string;
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  /** Each line that it prints. */
  readonly onLine: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Folders in which nothing is to stay. */
const scratch = ["run", "tmp", "var/cache/apt", "var/lib/apt/lists", "var/log"];

const mounts = `
lower=$1; work=$2; shift 2; root=$work/root
mount -t overlay agentbox -o "lowerdir=$lower,upperdir=$work/upper,workdir=$work/overlay,redirect_dir=off,metacopy=off,index=off" "$root"
mount -t proc proc "$root/proc"
for name in "$@"; do mkdir -p "$root/$name"; mount --bind "$work/scratch/$name" "$root/$name"; done
if [ -e /etc/resolv.conf ]; then mount --bind /etc/resolv.conf "$root/etc/resolv.conf"; fi
exec chroot "$root" /bin/bash -euo pipefail /run/script
`;

const keptLines = 30;

export async function runInRoot({ parent, lowers, work, script, env, onLine, signal }: RootRun): Promise<void> {
  const folder = join(parent, work);
  for (const name of ["root", "upper", "overlay", ...scratch.map((path) => `scratch/${path}`)]) {
    await mkdir(join(folder, name), { recursive: true, mode: name === "scratch/tmp" ? 0o777 : 0o755 });
  }
  await writeFile(join(folder, "scratch/run/script"), script);
  const certificates = await findCertificates();
  if (certificates !== undefined) await writeFile(join(folder, "scratch/run/certificates.pem"), certificates);
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"];
  // overlayfs separates folders with colons: names below the present folder have none.
  const args = [...namespaces, "sh", "-eu", "-c", mounts, "sh", lowers.toReversed().join(":"), work, ...scratch];
  const child = spawn("unshare", args, { cwd: parent, env: { ...env }, stdio: ["ignore", "pipe", "pipe"], signal });
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      last.push(line);
      if (last.length > keptLines) last.shift();
      onLine(line);
    });
  }
  const code = await new Promise<number | string>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status, name) => resolve(status ?? name ?? 1));
  });
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`it failed (${code}):\n${last.join("\n")}`);
  if (!existsSync(join(folder, "upper"))) throw new Error(`${folder} was removed while it was in use`);
}
