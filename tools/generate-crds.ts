/** Writes deploy/crds/*.yaml (which lie in the chart) from the kinds in src/model. Run it after changing one: `node tools/generate-crds.ts`. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { crdFileName, crdYaml } from "#model/crd.ts";
import { customKinds } from "#model/kinds.ts";

const folder = new URL("../deploy/crds/", import.meta.url);

await mkdir(folder, { recursive: true });
for (const stale of await readdir(folder)) await rm(new URL(stale, folder));
for (const kind of customKinds) await writeFile(new URL(crdFileName(kind), folder), crdYaml(kind));
console.log(`${customKinds.length} definitions written to deploy/crds`);
