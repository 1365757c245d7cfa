import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Pod } from "#model/pod.ts";
import { noTraces, podTraces } from "../world/machine-traces.ts";
import { isReady } from "../world/pod-watch.ts";
import { UpProcess } from "../world/up-process.ts";

const threeReady = (pods: readonly Pod[]): boolean => pods.length === 3 && pods.every(isReady);

test("down leaves nothing on the machine, also when somebody has removed the node's files before", async () => {
  await using up = await UpProcess.onNewFolder(["base"]);
  await up.start();
  await up.podsWhen(threeReady, 60_000);
  await up.process.kill();
  for (const name of ["node", "objects.db"]) await rm(join(up.home, name), { recursive: true });
  expect(podTraces(up.traces())).not.toEqual([]);
  expect(await up.agentbox("down")).toMatchObject({ code: 0, stdout: expect.stringContaining("All sandboxes are gone.") });
  await expect.poll(() => up.traces(), { timeout: 20_000 }).toEqual(noTraces);
  expect(await up.agentbox("down")).toMatchObject({ code: 0, stdout: `No sandboxes of ${up.home} are on this machine.\n` });
});
