import { expect, test } from "vitest";
import { agentbox, type Said } from "../../../test/world/run-cli.ts";
import { type ScriptedApi, scriptedApi } from "../../../test/world/scripted-api.ts";

function run(api: ScriptedApi, argv: readonly string[]): Promise<Said> {
  return agentbox(argv, { env: { AGENTBOX_API_URL: api.url, AGENTBOX_API_KEY: "e2b_x" } });
}

const calls = (api: ScriptedApi): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

test("inspect shows the description and documentation of a template, or that it has none", async () => {
  let markdown = "# How\nLike this.\n";
  const template = { metadata: { name: "base" }, spec: { version: "v1.0.0", description: "Python" } };
  await using api = await scriptedApi(({ path }) => ({ body: path.endsWith("/docs") ? { markdown } : template }));
  const said = await run(api, ["inspect", "template/base"]);
  expect(said.stdout).toContain("description: Python");
  expect(said.stdout).toMatch(/\n\n# How\nLike this\.\n$/);
  expect(JSON.parse((await run(api, ["inspect", "sbt/base", "-o", "json"])).stdout)).toMatchObject({ name: "base", docs: markdown });
  markdown = "";
  expect((await run(api, ["inspect", "template/base"])).stdout).toContain("has no documentation");
  expect(calls(api).slice(0, 2).sort()).toEqual(["GET /v1/templates/base", "GET /v1/templates/base/docs"]);
});

const sandbox = {
  sandboxId: "sb1",
  namespace: "default",
  poolName: "py",
  envName: "py",
  templateName: "python-3",
  podName: "py-1",
  node: "n1",
  team: "red",
  user: "ann",
  status: "Running",
  claimedAt: "2026-01-01T00:00:00.000Z",
  startedAt: "2026-01-01T00:00:02.000Z",
  containerImages: { main: "app:1", side: "log:2" },
  metadata: { ticket: "42" },
  cpu: "2",
  memory: "512Mi",
  idleTimeout: "10m",
};

test("inspect tells people what a sandbox is, how it is, and what to do next", async () => {
  await using api = await scriptedApi(() => ({ body: { sandbox } }));
  const { stdout } = await run(api, ["inspect", "sb1"]);
  expect(stdout).toMatch(
    /^Sandbox +sb1\nOwner +red \/ ann\nPool +py\nTemplate +python-3\nPod +py-1 on n1\nImage +main: app:1\n +side: log:2\n/,
  );
  expect(stdout).toMatch(
    /Size +2 cpu, 512Mi memory\nStatus +Running\nClaimed +\S+ ago \(2026-01-01T00:00:00.000Z\)\nStarted +2s after the claim\nIdle timeout +10m\nMetadata +ticket=42\n/,
  );
  expect(stdout).toContain("agentbox attach sb1");
});

test("inspect says why a sandbox is stuck or has failed, and shows what it wrote on one line", async () => {
  const events = [{ reason: "Failed", message: "no such image", lastTimestamp: "2026-01-01T00:00:00Z", count: 3 }];
  const diagnosis = { podName: "py-1", phase: "starting", reason: "ImagePullBackOff", message: "the image cannot be pulled", events };
  await using stuck = await scriptedApi(() => ({ body: { sandbox: { ...sandbox, status: "Starting", diagnosis } } }));
  expect((await run(stuck, ["inspect", "sb1"])).stdout).toMatch(
    /Why it is so: {2}ImagePullBackOff: the image cannot be pulled\n {2}\S+ +Failed +no such image \(3 times\)\n/,
  );
  const ended = {
    status: "Failed",
    failureReason: "Error",
    failureMessage: "\u001b[2Jgone\nfor good",
    exitCode: 3,
    terminatedAt: "2026-01-01T00:05:00.000Z",
  };
  await using failed = await scriptedApi(() => ({ body: { sandbox: { ...sandbox, ...ended } } }));
  const { stdout } = await run(failed, ["inspect", "sb1"]);
  expect(stdout).toMatch(/Status +Failed: Error; \^\[\[2Jgone\.\.\.\n/);
  expect(stdout).toMatch(/Lived +5m\n/);
  expect(stdout).toContain("agentbox audit --target sb1");
});

test("programs get all of it as yaml or json, or one field", async () => {
  await using api = await scriptedApi(() => ({ body: { sandbox } }));
  expect(JSON.parse((await run(api, ["inspect", "sb1", "-o", "json"])).stdout)).toEqual(sandbox);
  expect((await run(api, ["inspect", "sb1", "-o", "yaml"])).stdout).toContain("podName: py-1");
  expect((await run(api, ["inspect", "sb1", "-o", "jsonpath={.podName}"])).stdout).toBe("py-1\n");
  expect((await run(api, ["inspect", "sb1", "-o", "wide"])).code).toBe(2);
});
