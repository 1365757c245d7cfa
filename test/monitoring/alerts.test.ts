/** The alert rules by Prometheus' own checker, in simulated time: the stories are in alerts.test.yaml beside the rules. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const cwd = fileURLToPath(new URL("../../deploy/chart/files/monitoring", import.meta.url));

test.each([
  ["the alert rules are valid", ["check", "rules", "alerts.yaml"], "SUCCESS: 14 rules found"],
  ["alerts fire when something is wrong, and stay silent when nothing is", ["test", "rules", "alerts.test.yaml"], "SUCCESS"],
])("%s", async (_fact, args, expected) => {
  const { stdout } = await promisify(execFile)("promtool", args, { cwd });
  expect(stdout).toContain(expected);
});
