/** Writes the generated parts of the SDKs from the routes of the native API: `node tools/generate-sdks.ts`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { generatedSdks } from "./sdk/generated-sdks.ts";

for (const [file, text] of Object.entries(generatedSdks())) {
  const place = new URL(`../${file}`, import.meta.url);
  mkdirSync(new URL(".", place), { recursive: true });
  writeFileSync(place, text);
  console.log(`${file} written`);
}
