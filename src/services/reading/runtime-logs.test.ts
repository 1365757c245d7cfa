import { expect, test } from "vitest";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { ann, eve, failureOf, namespace, podKey, ServiceScene } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { runtimeLogs } from "./runtime-logs.ts";
import type { LogRequest } from "#services/sandbox-service.ts";

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
const runtimes = [{ name: "e2b", logDir: "/tmp/envd.log" }, { name: "swerex" }];

/** A sandbox of a pool whose template says where its runtime logs to. */
async function openScene(): Promise<ServiceScene> {
  const scene = await ServiceScene.open();
  scene.cache.templates.remember(await scene.client.create(SandboxTemplates, { metadata: { name: "base" }, spec: { template, runtimes } }));
  const pool = { metadata: { namespace, name: "py" }, spec: { replicas: 1, templateName: "base" } };
  scene.cache.pools.remember(await scene.client.create(SandboxPools, pool));
  await scene.sandbox("i-1");
  return scene;
}

async function logOf(scene: ServiceScene, request: LogRequest = {}, source = "e2b", caller = ann): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of runtimeLogs(scene, caller, "i-1", { ...request, source })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("the file that a runtime of the template logs to is read in the sandbox, and that is no use of it", async () => {
  await using scene = await openScene();
  const read = logOf(scene, { tail: 5 });
  await settle();
  expect(scene.pods.ran).toMatchObject([
    { pod: podKey("i-1"), container: "main", command: { argv: ["tail", "-n", "5", "/tmp/envd.log"] } },
  ]);
  expect(await scene.activity.activityOf(await scene.client.get(Pods, podKey("i-1")))).toMatchObject({ inUse: false });
  scene.pods.end(0, "started\n");
  expect(await read).toBe("started\n");
});

test("following goes on until the reader leaves", async () => {
  await using scene = await openScene();
  const abort = new AbortController();
  const read = logOf(scene, { follow: abort.signal });
  await settle();
  expect(scene.pods.ran[0]?.command.argv).toEqual(["tail", "-n", "1000", "-F", "/tmp/envd.log"]);
  scene.pods.program.stdout.write("one\n");
  await settle();
  abort.abort();
  expect(await read).toBe("one\n");
});

test("a runtime without a log is refused with those that have one, and a file that is not there with what tail says", async () => {
  await using scene = await openScene();
  expect(await failureOf(logOf(scene, {}, "swerex"))).toMatchObject({
    code: "invalid_request",
    details: { field: "source", available: ["stdout", "e2b"] },
  });
  expect(await failureOf(logOf(scene, { sinceMs: 1 }))).toMatchObject({ code: "invalid_request", details: { field: "since" } });
  const read = failureOf(logOf(scene));
  await settle();
  scene.pods.program.stderr.write("no such file");
  scene.pods.end(1);
  expect(await read).toMatchObject({ code: "conflict", message: expect.stringContaining("no such file") });
});

test("I8: the log of a foreign sandbox is not there", async () => {
  await using scene = await openScene();
  expect((await failureOf(logOf(scene, {}, "e2b", eve))).code).toBe("not_found");
  expect(scene.pods.ran).toEqual([]);
});
