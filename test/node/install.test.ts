/** What systemd itself says of the unit that `agentbox install` writes. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { unitText } from "../../src/cmd/machine/install/unit-text.ts";

let folder = "";
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "agentbox-unit-"))));
afterEach(() => rm(folder, { recursive: true }));

const program = join(import.meta.dirname, "../../bin/agentbox");

async function verified(unit: string): Promise<string> {
  const file = join(folder, "agentbox.service");
  await writeFile(file, unit);
  const said = await promisify(execFile)("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", file]).catch(
    (error: unknown) => error,
  );
  return (said as { readonly stderr: string }).stderr;
}

test("systemd takes every line of the unit", async () => {
  const unit = unitText({
    program,
    dataFolder: "/srv/100% mine",
    settingsFile: "/etc/agentbox/agentbox.env",
    cacheFolder: "/root/.cache/agentbox",
  });
  expect(await verified(unit)).toBe("");
  // It does look.
  expect(await verified(unit.replace("KillMode=process", "KillMode=sandboxes"))).toContain("sandboxes");
  expect(await verified(unit.replace("RestartSec", "RestartSeconds"))).toContain("RestartSeconds");
  expect(await verified(unit.replace(program, "/opt/missing"))).toContain("/opt/missing");
});
