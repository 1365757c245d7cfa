/** SWE-ReX's published client, through the gateway, in a sandbox of our own server. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { swerexProgram } from "./install.ts";

const server = inject("conformance");
const run = promisify(execFile);
const api = new AgentBoxClient({ url: server.apiUrl, apiKey: server.apiKey });
const name = `swerex-${process.pid}`;

beforeAll(async () => {
  const container = { name: "sandbox", image: "host", resources: { limits: { cpu: "1", memory: "512Mi" } } };
  await post("/v1/templates", {
    metadata: { name },
    spec: { version: "v1.0.0", runtimes: [{ name: "swerex" }], template: { spec: { containers: [container] } } },
  });
  await post("/v1/pools", { metadata: { name }, spec: { replicas: 1, templateName: name } });
}, 60_000);
afterAll(async () => {
  await ask("DELETE", `/v1/pools/${name}`);
  await ask("DELETE", `/v1/templates/${name}`);
});

function ask(method: string, path: string, body?: object): Promise<Response> {
  const headers = { "x-api-key": server.apiKey, "content-type": "application/json" };
  return fetch(`${server.apiUrl}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
}

async function post(path: string, body: object): Promise<unknown> {
  const answer = await ask("POST", path, body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

test("every call of the client does what it does with the original server", async () => {
  const { sandbox, accessToken } = (await post("/v1/sandboxes", { poolName: name })) as {
    sandbox: { sandboxId: string };
    accessToken: string;
  };
  const host = `${server.gatewayUrl}/sandboxes/${sandbox.sandboxId}/8000`;
  const { stdout } = await run(swerexProgram(), [join(import.meta.dirname, "python/swerex_cases.py"), host, accessToken], {
    timeout: 120_000,
  });
  expect(stdout.trim().split("\n").at(-1)).toMatch(/^\d+ calls as expected$/);
  await api.sandboxes.end(sandbox.sandboxId);
}, 180_000);
