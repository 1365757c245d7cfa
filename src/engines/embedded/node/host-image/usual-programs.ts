/** Programs that sandboxes are expected to have, where the machine has them under another name or not at all. */
import { chmodSync, chownSync, existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { compileHelper } from "#engines/embedded/node/daemon/compile-helper.ts";

const sudoFolder = join(import.meta.dirname, "sudo");

/** Part of what the image is made of. */
export function sudoSource(): string {
  return readFileSync(join(sudoFolder, "sudo.c"), "utf8");
}

/** `usr`: the machine's, which shows through `layer`. What it has itself stays as it is. */
export async function addUsualPrograms(layer: string, usr: string): Promise<void> {
  const folder = join(layer, "local/bin");
  if (!existsSync(join(usr, "bin/python")) && existsSync(join(usr, "bin/python3"))) {
    symlinkSync("/usr/bin/python3", join(folder, "python"));
  }
  if (existsSync(join(usr, "bin/sudo"))) return;
  const sudo = join(folder, "sudo");
  await compileHelper(sudoFolder, sudo);
  chownSync(sudo, 0, 0);
  // Set-user-id: root of the sandbox. On the machine only root may look into this folder, and the program refuses to work outside of a sandbox.
  chmodSync(sudo, 0o4755);
}
