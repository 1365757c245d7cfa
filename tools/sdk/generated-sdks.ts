/** The generated files of both SDKs: path and text, formatted where a formatter keeps the rest of the folder. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { wholeApi } from "#api/native/fleet-routes.ts";
import packageJson from "../../package.json" with { type: "json" };
import { apiModel } from "./api-model.ts";
import { pythonApi } from "./python-api.ts";
import { PythonTypes } from "./python-types.ts";
import { typescriptApi, typescriptTypes } from "./typescript.ts";

export function generatedSdks(): Readonly<Record<string, string>> {
  const model = apiModel(wholeApi());
  const types = new PythonTypes(model);
  const api = pythonApi(model, types, packageJson.version);
  return {
    "src/client/generated/api-types.generated.ts": formatted(typescriptTypes(model)),
    "src/client/generated/api.generated.ts": formatted(typescriptApi(model)),
    // After the operations, which name the types of their answers.
    "sdk/python/src/agentbox/api.py": api,
    "sdk/python/src/agentbox/types.py": types.text(),
  };
}

function formatted(text: string): string {
  const program = fileURLToPath(new URL("../../node_modules/.bin/oxfmt", import.meta.url));
  return execFileSync(program, ["--stdin-filepath=generated.ts"], { input: text, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
}
