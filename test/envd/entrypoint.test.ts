import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDaemon } from "./daemon.ts";

test("the image's own program starts once, when the sandbox has its environment", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-entrypoint-"));
  try {
    const file = join(folder, "told");
    const AGENTBOX_ENTRYPOINT = JSON.stringify(["/bin/sh", "-c", `echo "$GIVEN $HOME $AGENTBOX_POD_UID" >> ${file}`]);
    await using daemon = await startDaemon("waiting", { AGENTBOX_ENTRYPOINT });
    expect(existsSync(file)).toBe(false);
    await daemon.init({ envVars: { GIVEN: "here" } });
    await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toBe("here /root \n");
    await daemon.init({ envVars: { GIVEN: "again" } });
    expect((await fetch(`${daemon.url}/envs`)).status).toBe(200);
    expect(readFileSync(file, "utf8")).toBe("here /root \n");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
