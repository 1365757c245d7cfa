/** Systems that lie in folders, as an image: one layer for each folder. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { ImageSpec } from "#images/build/build-image.ts";
import { plainConfig } from "#images/build/image-labels.ts";
import { packFolder } from "#images/layer/pack.ts";
import { machinePlatform } from "#images/platform.ts";

export interface DebianImage {
  readonly title: string;
  readonly version: string;
  /** Variables beside PATH and LANG. */
  readonly env?: readonly string[];
}

/** The first folder is the root file system, the others are what changed. Packed as they stand: owners, permissions and capabilities make it a system. */
export async function debianImage(folders: readonly string[], { title, version, env = [] }: DebianImage): Promise<ImageSpec> {
  const [root = ""] = folders;
  await stat(join(root, "etc/debian_version"));
  // As an overlay without options marks what is deleted in an upper folder; in the root nothing is.
  const marks = { whiteout: "device", namespace: "trusted" } as const;
  return {
    layers: folders.map((folder) => () => packFolder(folder, { marks })),
    platform: machinePlatform(),
    config: {
      ...plainConfig(title, version),
      cmd: ["/bin/bash"],
      env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", ...env],
      // Root: the daemon starts what it is asked to start as `user`, and has to be able to.
      workingDir: "/home/user",
    },
  };
}
