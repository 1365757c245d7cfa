/** A small Debian as a folder, for tests that need a real distribution in an image. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Made once with a mirror's help, in a minute or two, and kept for the next time. Undefined without debootstrap or a mirror. Not to be changed: copy it. */
export function debianRoot(): string | undefined {
  const kept = join(homedir(), ".cache/agentbox/debian-minbase");
  if (existsSync(kept)) return kept;
  const making = `${kept}.making-${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    execFileSync("debootstrap", ["--variant=minbase", "stable", making], { stdio: "ignore", timeout: 240_000 });
    renameSync(making, kept);
    return kept;
  } catch {
    rmSync(making, { recursive: true, force: true });
    return undefined;
  }
}
