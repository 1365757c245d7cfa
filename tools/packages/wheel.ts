/** The Python package. Its generated part has the version. */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Returns the wheel's name in `into`. `work` is an empty folder. */
export function wheel(work: string, into: string): string {
  const staged = join(work, "source");
  cpSync(join(root, "sdk/python"), staged, { recursive: true, filter: (path) => !path.includes("__pycache__") });
  cpSync(join(root, "LICENSE"), join(staged, "LICENSE"));
  // A machine's own Python may have no pip.
  execFileSync("python3", ["-m", "venv", join(work, "tools")], { stdio: "inherit" });
  const built = join(work, "wheel");
  const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", built];
  execFileSync(join(work, "tools/bin/pip"), ["wheel", ...options, staged], { stdio: "inherit" });
  const [name = ""] = readdirSync(built);
  cpSync(join(built, name), join(into, name));
  return name;
}
