/**
 * Writes deploy/crds/*.yaml from the kinds in src/model, and again into the chart: Helm renders only what lies in there.
 * Run it after changing one: `node tools/generate-crds.ts`.
 */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { crdFileName, crdYaml } from "#model/crd.ts";
import { customKinds } from "#model/kinds.ts";

for (const name of ["crds", "chart/files/crds"]) {
  const folder = new URL(`../deploy/${name}/`, import.meta.url);
  await mkdir(folder, { recursive: true });
  for (const stale of await readdir(folder)) await rm(new URL(stale, folder));
  for (const kind of customKinds) await writeFile(new URL(crdFileName(kind), folder), crdYaml(kind));
}
console.log(`${customKinds.length} definitions written to deploy/crds and deploy/chart/files/crds`);
