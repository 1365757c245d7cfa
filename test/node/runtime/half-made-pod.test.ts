import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { nodePaths } from "#engines/embedded/node/node-paths.ts";
import { NodeWorld } from "./node-world.ts";

test("a pod whose node died before it had its disk gets it before its first container, and goes without a trace", async () => {
  await using world = await NodeWorld.open({ diskQuota: "loop" });
  const { uid } = await world.pod({ limits: { pids: 20, ephemeralStorageBytes: 20 << 20 } });
  await world.closeRuntime();
  const { run, disks } = nodePaths(world.options.home, world.options.instance);
  const folder = join(run, "disks", uid);
  removeMountPoint(folder);
  rmSync(join(disks, "files", `${uid}.img`));

  await world.openRuntime();
  await world.start(uid);
  expect(mountTable().filter(({ target }) => target === folder)).toMatchObject([{ type: "ext4" }]);
  await world.runtime.removePod(uid);
  expect(existsSync(folder)).toBe(false);
});
