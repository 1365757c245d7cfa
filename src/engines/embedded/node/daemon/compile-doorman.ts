/** The doorman is the one part of the daemon that is compiled (ADR 56): static, so that it runs in every image. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Nothing of the machine or the day: the same source makes the same program, and so the same image. */
const flags = ["-O2", "-static", "-s", "-Wl,--build-id=none"];

export async function compileDoorman(source: string, to: string, compiler = "cc"): Promise<void> {
  try {
    await run(compiler, [...flags, "-o", to, source, "-lsodium"]);
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    const why = code === "ENOENT" ? `there is no ${compiler}` : stderr;
    const install = "apt-get install -y --no-install-recommends gcc libc6-dev libsodium-dev";
    throw new Error(`the daemon's doorman cannot be compiled; what it needs is installed with: ${install}\n${why}`, { cause: error });
  }
}
