/** The helper is the one part of the daemon that is compiled (ADR 73): static, so that it runs in every image. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError, runCommand } from "#engines/embedded/node/linux/run-command.ts";

export const warnings: readonly string[] = ["-std=gnu17", "-Wall", "-Wextra", "-Werror"];
/** Clients that are not ours speak to it. Neither the machine nor the day is in it: the same source makes the same program, and so the same image. */
const hardening = ["-static-pie", "-fPIE", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now"];
const release = [...warnings, "-O2", ...hardening, "-s", "-Wl,--build-id=none"];

/** Another one whenever the program would be: also when a library that is linked into it has been mended. */
export async function helperKey(sources: string, compiler = "cc"): Promise<string> {
  const hash = createHash("sha256").update(release.join(" "));
  for (const file of await filesOf(sources, /\.[ch]$/)) hash.update(file).update(await readFile(join(sources, file)));
  for (const library of ["libsodium.a", "libc.a"]) {
    const path = await orExplained(compiler, () => runCommand([compiler, `-print-file-name=${library}`]));
    hash.update(await readFile(path.trim()).catch(() => library));
  }
  return hash.digest("hex");
}

export interface CompileOptions {
  readonly compiler?: string;
  /** For other programs than sandboxes run: with what tests look at. */
  readonly flags?: readonly string[];
}

/** `sources`: the folder. */
export async function compileHelper(sources: string, to: string, { compiler = "cc", flags = release }: CompileOptions = {}): Promise<void> {
  const files = (await filesOf(sources, /\.c$/)).map((file) => join(sources, file));
  await orExplained(compiler, () => runCommand([compiler, ...flags, "-o", to, ...files, "-lsodium"]));
}

async function filesOf(folder: string, ending: RegExp): Promise<string[]> {
  return (await readdir(folder)).filter((name) => ending.test(name)).sort();
}

async function orExplained<T>(compiler: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const why = error instanceof CommandError && error.stderr !== "" ? error.stderr : (error as Error).message;
    const install = "apt-get install -y --no-install-recommends gcc libc6-dev libsodium-dev";
    throw new Error(`a program of sandboxes cannot be compiled; what it needs is installed with: ${install}\n${why}`, { cause: error });
  }
}
