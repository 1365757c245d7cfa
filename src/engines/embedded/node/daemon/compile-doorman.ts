/** The doorman is the one part of the daemon that is compiled (ADR 56): static, so that it runs in every image. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Strangers speak to it. Nothing of the machine or the day is in it: the same source makes the same program, and so the same image. */
const hardening = ["-static-pie", "-fPIE", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now"];
const flags = ["-O2", ...hardening, "-s", "-Wl,--build-id=none"];

/** Another one whenever the program would be: also when a library that is linked into it has been mended. */
export async function doormanKey(source: string, compiler = "cc"): Promise<string> {
  const hash = createHash("sha256").update(flags.join(" "));
  for (const file of [source, join(dirname(source), "judge.h")]) hash.update(await readFile(file));
  for (const library of ["libsodium.a", "libc.a"]) {
    const path = await orExplained(compiler, () => run(compiler, [`-print-file-name=${library}`]));
    hash.update(await readFile(path.stdout.trim()).catch(() => library));
  }
  return hash.digest("hex");
}

export async function compileDoorman(source: string, to: string, compiler = "cc"): Promise<void> {
  await orExplained(compiler, () => run(compiler, [...flags, "-o", to, source, "-lsodium"]));
}

async function orExplained<T>(compiler: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    const why = code === "ENOENT" ? `there is no ${compiler}` : stderr;
    const install = "apt-get install -y --no-install-recommends gcc libc6-dev libsodium-dev";
    throw new Error(`the daemon's doorman cannot be compiled; what it needs is installed with: ${install}\n${why}`, { cause: error });
  }
}
