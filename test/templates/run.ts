/** `node test/templates/run.ts [TEMPLATE …]`: adds templates to a new server and tries what is promised of them with E2B's SDKs. Needs root, debootstrap and the registries. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { readyTemplateNames } from "#model/ready-templates.ts";
import { desktopProgram, installDesktop } from "../conformance/install.ts";
import { UpProcess } from "../world/up-process.ts";

const root = join(import.meta.dirname, "../..");
const names = process.argv.length > 2 ? process.argv.slice(2) : readyTemplateNames;

await installDesktop();
await using server = await UpProcess.onNewFolder();
await server.start();
const { url, apiKey } = await server.access();
const gateway = await server.gateway();
const env = {
  ...process.env,
  AGENTBOX_HOME: server.home,
  E2B_API_KEY: apiKey,
  E2B_API_URL: url,
  E2B_SANDBOX_URL: gateway,
};
const failed =
  (await codeOf(join(root, "bin/agentbox"), ["template", "add", ...names])) ||
  (await codeOf(desktopProgram(), [join(import.meta.dirname, "cases.py"), ...names]));
console.log(failed === 0 ? `${names.length} passed, 0 failed` : "0 passed, 1 failed");
process.exitCode = failed;

function codeOf(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(program, args, { env, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}
