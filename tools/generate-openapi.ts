/** Writes docs/openapi.json from the routes of the native API. Run it after changing one: `node tools/generate-openapi.ts`. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { wholeApi } from "#api/native/fleet-routes.ts";

const file = fileURLToPath(new URL("../docs/openapi.json", import.meta.url));
const document = wholeApi();
writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
execFileSync(fileURLToPath(new URL("../node_modules/.bin/oxfmt", import.meta.url)), [file]);
console.log(`${Object.keys(document.paths).length} paths written to docs/openapi.json`);
