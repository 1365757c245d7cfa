import { expect, test } from "vitest";
import { eventually } from "../../../../test/world/eventually.ts";
import { SandboxApi } from "../../../../test/world/sandbox-api.ts";

test("a command is run to its end, whatever its exit code", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const body = { command: ["sh", "-c", "exit 7"], env: { A: "b" }, user: "u", workingDir: "/w", stdin: "x", timeout: "1m" };
  const answer = world.api.ask("POST /v1/sandboxes/i1/exec", { body });
  await eventually(() => expect(world.scene.pods.ran).toHaveLength(1));
  world.scene.pods.end(7, "out");
  expect(await answer).toMatchObject({ status: 200, json: { exitCode: 7, stdout: "out", stderr: "", truncated: false } });
  expect(world.scene.pods.ran).toMatchObject([
    { container: "main", command: { argv: ["sh", "-c", "exit 7"], env: { A: "b" }, user: "u", workingDir: "/w" } },
  ]);
  expect(world.scene.pods.ran[0]?.command).not.toHaveProperty("stdin");
});

test.for<[string, unknown, string]>([
  ["no command", {}, "command"],
  ["an empty command", { command: [] }, "command"],
  ["a command that is a text", { command: "ls" }, "command"],
  ["a folder that is none", { command: ["ls"], workingDir: "here" }, "workingDir"],
  ["a time that is none", { command: ["ls"], timeout: "soon" }, "timeout"],
  ["too long a time", { command: ["ls"], timeout: "6m" }, "timeout"],
  ["a container that there is not", { command: ["ls"], container: "side" }, "container"],
  ["a field that there is not", { command: ["ls"], cwd: "/" }, "cwd"],
])("%s is refused, with the place", async ([, body, field]) => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const answer = await world.api.ask("POST /v1/sandboxes/i1/exec", { body });
  expect([answer.status, answer.json]).toMatchObject([400, { code: "invalid_request", field }]);
  expect(world.scene.pods.ran).toEqual([]);
});

test("a command that takes too long is a 504, and one of a sandbox that starts a 409", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  await world.scene.sandbox("i2", { phase: "starting" });
  const late = world.api.ask("POST /v1/sandboxes/i1/exec", { body: { command: ["sleep"], timeout: "2s" } });
  await eventually(() => expect(world.scene.pods.ran).toHaveLength(1));
  await world.api.clock.step(2000);
  expect(await late).toMatchObject({ status: 504, json: { code: "timeout" } });
  const early = await world.api.ask("POST /v1/sandboxes/i2/exec", { body: { command: ["ls"] } });
  expect(early).toMatchObject({ status: 409, json: { code: "conflict" } });
});

test("a client that disconnects ends its command", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const address = await world.api.listen();
  const gone = new AbortController();
  const headers = { "x-api-key": "ann", "content-type": "application/json" };
  const request = { method: "POST", headers, body: '{"command":["sleep"]}', signal: gone.signal };
  fetch(`${address}/v1/sandboxes/i1/exec`, request).catch(() => {});
  await eventually(() => expect(world.scene.pods.ran).toHaveLength(1));
  gone.abort();
  await eventually(() => expect(world.scene.pods.ran[0]?.command.signal?.aborted).toBe(true));
});

test.for<[unknown, string]>([
  [{ rows: 0 }, "rows"],
  [{ cols: 1001 }, "cols"],
  [{ command: [] }, "command"],
  [{ tty: true }, "tty"],
])("a terminal %j is refused, with the place", async ([body, field]) => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const answer = await world.api.ask("POST /v1/sandboxes/i1/exec-token", { body });
  expect([answer.status, answer.json]).toMatchObject([400, { code: "invalid_request", field }]);
});
