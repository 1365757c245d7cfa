/** What the bed promises to the tests that use it. It has a bed of its own, because it treats it badly. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import type { WatchEvent } from "#kube/object-client.ts";
import { ConfigMaps, type ConfigMap } from "#model/core-kinds.ts";
import { eventually } from "../world/eventually.ts";
import { startKubernetes, type KubernetesBed } from "./bed.ts";

let bed: KubernetesBed;
let client: KubernetesClient;
beforeAll(async () => {
  bed = await startKubernetes();
  client = await kubernetesClient({ kubeconfig: bed.kubeconfig });
}, 120_000);
afterAll(async () => {
  await client.close();
  await bed.stop();
});

const key = { namespace: "default", name: "kept" };

function watchFrom(resourceVersion: string | undefined): AsyncIterator<WatchEvent<ConfigMap>> {
  return client.watch(ConfigMaps, { namespace: "default", resourceVersion })[Symbol.asyncIterator]();
}

test("an API server that dies tears its watches, and serves the same objects to the same clients when it is back", async () => {
  const made = await client.create(ConfigMaps, { metadata: key });
  const watch = watchFrom(made.metadata.resourceVersion);
  const changed = await client.patch(ConfigMaps, key, { type: "merge", body: { data: { a: "1" } } });
  expect(await watch.next()).toMatchObject({ value: { type: "MODIFIED", object: changed } });
  const torn = watch.next().catch((error: unknown) => error);

  await bed.killApiServer();
  expect(await torn).toMatchObject({ reason: "Unreachable" });
  const impatient = await kubernetesClient({ kubeconfig: bed.kubeconfig, retries: { maxTries: 1, maxWaitMs: 0 } });
  await expect(impatient.get(ConfigMaps, key)).rejects.toMatchObject({ reason: "Unreachable" });
  await impatient.close();

  await bed.startApiServer();
  expect(await client.get(ConfigMaps, key)).toEqual(changed);
  const resumed = watchFrom(changed.metadata.resourceVersion);
  await client.delete(ConfigMaps, key);
  expect(await resumed.next()).toMatchObject({ value: { type: "DELETED", object: { metadata: key } } });
  await resumed.return?.();

  await expect(watchFrom("1").next()).rejects.toMatchObject({ reason: "Expired", code: 410 });
});

test("nothing of a bed outlives a test process that is killed", async () => {
  const script = fileURLToPath(new URL("./bed.ts", import.meta.url));
  const owner = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  const [started] = (await once(owner.stdout.setEncoding("utf8"), "data")) as [string];
  const folder = /^Kubernetes API at https:.*, data and logs in (\S+)\. /.exec(started)?.[1];
  const servers = await childrenOf(owner.pid ?? -1);
  expect(servers).toHaveLength(3);

  owner.kill("SIGKILL");
  await once(owner, "exit");
  await eventually(async () => expect((await Promise.all(servers.map(isAlive))).filter(Boolean)).toEqual([]));
  // Only its files stay behind.
  await rm(folder ?? "", { recursive: true });
});

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

async function isAlive(pid: number): Promise<boolean> {
  try {
    // A zombie waits for its new parent to notice; it runs nothing.
    return !/^State:\s+[ZX]/m.test(await readFile(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
