/** The binaries of the bed: built once by tools/kubernetes-bed/build.sh, then found in its cache. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const buildScript = fileURLToPath(new URL("../../tools/kubernetes-bed/build.sh", import.meta.url));

/**
 * The folder that holds them: those of the object tests, or also those that a whole cluster takes. Building for the first
 * time takes minutes; the script tells its progress on stderr.
 */
export async function bedBinaries(set?: "cluster"): Promise<string> {
  const build = spawn(buildScript, set === undefined ? [] : [set], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  build.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve, reject) => build.once("error", reject).once("close", resolve));
  if (code !== 0) throw new Error(`${buildScript} failed with code ${code}; what it needs is said above`);
  return output.trimEnd().split("\n").at(-1) ?? "";
}
