/**
 * The image that brings the daemon into sandboxes on clusters. Its root is what stands in /.envd of a sandbox, and
 * install.cjs, which copies it there where the image cannot be mounted.
 */
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import type { ImageSpec } from "#images/build/build-image.ts";
import { entriesBelow, type LayerEntry, packEntries } from "#images/build/layer-entries.ts";
import { plainConfig } from "#images/build/image-labels.ts";
import { machinePlatform } from "#images/platform.ts";
import { isOfRuntime, runtimeLayer } from "./runtime-layer.ts";

export async function daemonImage(folder: string, version: string): Promise<ImageSpec> {
  const entries = await entriesBelow(folder, "");
  const files = entries.flatMap(({ kind, path }) => (kind === "file" ? [path] : []));
  const installer: LayerEntry = { kind: "file", path: "install.cjs", content: await bundleInstaller(["install.cjs", ...files].sort()) };
  const own = [...entries.filter(({ path }) => !isOfRuntime(path)), installer];
  return {
    layers: [await runtimeLayer(folder), () => packEntries(own)],
    platform: machinePlatform(),
    config: { ...plainConfig("AgentBox daemon", version), entrypoint: ["/lib/ld.so", "--library-path", "/lib", "/node", "/install.cjs"] },
  };
}

async function bundleInstaller(files: readonly string[]): Promise<Buffer> {
  const build = await rolldown({
    input: fileURLToPath(import.meta.resolve("./install.ts")),
    platform: "node",
    transform: { define: { imageFiles: JSON.stringify(files) } },
  });
  try {
    const { output } = await build.generate({ format: "cjs" });
    return Buffer.from(output[0].code);
  } finally {
    await build.close();
  }
}
