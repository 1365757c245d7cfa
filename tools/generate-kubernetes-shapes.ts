/** Writes the types and the field tables of Kubernetes' own kinds from tools/kubernetes-shapes/openapi.json: `node tools/generate-kubernetes-shapes.ts`. */
import { writeFileSync } from "node:fs";
import { generatedShapes } from "./kubernetes-shapes/generated-shapes.ts";

for (const [file, text] of Object.entries(generatedShapes())) {
  writeFileSync(new URL(`../${file}`, import.meta.url), text);
  console.log(`${file} written`);
}
