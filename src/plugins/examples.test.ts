/** The plugins of deploy/examples, loaded and run as a user would. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { loadPlugins } from "./load-plugins.ts";
import { openPluginChain } from "./plugin-chain.ts";

const examples = join(import.meta.dirname, "../../deploy/examples/plugins");
const { signal } = new AbortController();
let folder = "";
let server: ChildProcess | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-examples-"));
  await copyFile(join(examples, "batch-nodes.ts"), join(folder, "batch-nodes.ts"));
  await writeFile(join(folder, "budget.secret"), "a secret of enough letters\n");
  const env = { PATH: process.env["PATH"], SECRET_FILE: join(folder, "budget.secret"), BUDGETS: '{"red":10}', PORT: "0" };
  server = spawn(process.execPath, [join(examples, "budget-server.ts")], { env, stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(createInterface(server.stdout as NodeJS.ReadableStream), "line")) as [string];
  const text = await readFile(join(examples, "plugins.yaml"), "utf8");
  await writeFile(join(folder, "plugins.yaml"), text.replace("http://127.0.0.1:9400", line.replace("listening on ", "")));
});

afterAll(async () => {
  server?.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

async function openChain() {
  const { plugins, configuration } = await loadPlugins({ path: join(folder, "plugins.yaml"), isNamed: true }, systemClock);
  return openPluginChain(plugins, {
    clock: systemClock,
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    ...configuration,
  });
}

function aPool(replicas: number, labels: Record<string, string>): SandboxPool {
  return { metadata: { namespace: "default", name: "py", labels }, spec: { replicas } };
}

test("the module puts pods of batch pools on cheap nodes, and keeps the pools small", async () => {
  const chain = await openChain();
  const pod = { metadata: { name: "py-x" }, spec: { containers: [{ name: "main" }] } };
  expect(await chain.preCreatePod(pod, aPool(1, { tier: "batch" }), signal)).toMatchObject({
    object: { spec: { nodeSelector: { tier: "spot" }, tolerations: [{ key: "tier" }], containers: [{ name: "main" }] } },
  });
  expect(await chain.preCreatePod(pod, aPool(1, {}), signal)).toEqual({ object: pod });
  expect(await chain.probe(aPool(3, { tier: "batch" }), 100, signal)).toMatchObject({ admitted: 20, refusal: { plugin: "batch-nodes" } });
});

test("the server behind HTTP knows what a team has paid for, and believes signed requests only", async () => {
  const chain = await openChain();
  const red = { [labelKeys.team]: "red" };
  expect(await chain.preCreatePool(aPool(4, red), signal)).toMatchObject({
    object: { metadata: { annotations: { "example.com/budget": "10" } } },
  });
  expect(await chain.probe(aPool(4, red), 50, signal)).toMatchObject({
    admitted: 10,
    refusal: { plugin: "budget", message: "team red has paid for 10 pods" },
  });
  await writeFile(join(folder, "budget.secret"), "another secret of enough letters");
  expect(await (await openChain()).preCreatePool(aPool(4, red), signal)).toMatchObject({
    refusal: { kind: "Internal", plugin: "budget" },
  });
});
