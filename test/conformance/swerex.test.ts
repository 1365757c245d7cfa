/** SWE-ReX's published client, through the gateway, in a sandbox of our own server. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { swerexArchive, swerexProgram } from "./install.ts";

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
  await post("/v1/pools", { metadata: { name }, spec: { replicas: 3, templateName: name } });
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

interface Made {
  readonly id: string;
  readonly token: string;
  /** At the gateway, without a port. */
  readonly place: string;
}

async function made(): Promise<Made> {
  const { sandbox, accessToken } = (await post("/v1/sandboxes", { poolName: name })) as {
    sandbox: { sandboxId: string };
    accessToken: string;
  };
  return { id: sandbox.sandboxId, token: accessToken, place: `${server.gatewayUrl}/sandboxes/${sandbox.sandboxId}` };
}

/** The last line of what a program of python/ prints, and those that say what was different. */
async function told(program: string, ...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(swerexProgram(), [join(import.meta.dirname, "python", program), ...args], {
    timeout: 160_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  const lines = stdout.trim().split("\n");
  return [...lines.filter((line) => line.startsWith("DIFFERENT")), lines.at(-1) ?? ""];
}

test("every call of the client does what it does with the original server", async () => {
  const { id, token, place } = await made();
  expect(await told("swerex_cases.py", `${place}/8000`, token)).toEqual([expect.stringMatching(/^\d+ calls as expected$/)]);
  await api.sandboxes.end(id);
}, 180_000);

test("the original server in a second sandbox gives the same answers to the same calls", async () => {
  const archive = await swerexArchive();
  if (archive === undefined) throw new Error("this machine has no /usr/bin/python3, so its sandboxes cannot run the original");
  const [ours, other] = [await made(), await made()];
  const lines = await told("swerex_beside.py", ours.place, ours.token, other.place, other.token, archive);
  expect(lines).toEqual(["73 of 73 calls with the same answer"]);
  for (const { id } of [ours, other]) await api.sandboxes.end(id);
}, 180_000);
