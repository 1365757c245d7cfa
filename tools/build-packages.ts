/** Builds the packages of the SDKs into build/packages, or into the folder that is given: `node tools/build-packages.ts [FOLDER]`. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { npmPackage } from "./packages/npm-package.ts";
import { wheel } from "./packages/wheel.ts";

const into = resolve(process.argv[2] ?? join(import.meta.dirname, "../build/packages"));
mkdirSync(into, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "agentbox-packages-"));
try {
  for (const name of ["npm", "python"]) mkdirSync(join(work, name));
  const names = [await npmPackage(join(work, "npm"), into), wheel(join(work, "python"), into)];
  for (const name of names) console.log(join(into, name));
} finally {
  rmSync(work, { recursive: true });
}
