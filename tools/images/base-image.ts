/** The image of `base` sandboxes on clusters: a small Debian with a user that may use sudo. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { ImageSpec } from "#images/build/build-image.ts";
import { packFolder } from "#images/layer/pack.ts";
import { machinePlatform } from "#images/platform.ts";
import { plainConfig } from "./image-labels.ts";

/** `root` is packed as it stands: its owners, permissions and capabilities are what makes it a system. */
export async function baseImage(root: string, version: string): Promise<ImageSpec> {
  await stat(join(root, "etc/debian_version"));
  // A system that no overlay has touched: nothing in it means a deletion.
  const marks = { whiteout: "device", namespace: "trusted" } as const;
  return {
    layers: [() => packFolder(root, { marks })],
    platform: machinePlatform(),
    config: {
      ...plainConfig("AgentBox base", version),
      cmd: ["/bin/bash"],
      env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
      // Root: the daemon starts what it is asked to start as `user`, and has to be able to.
      workingDir: "/home/user",
    },
  };
}
