/** What is measured side by side: the store in this process (twice), the store behind its socket, and a real API server. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import type { Durability } from "#engines/embedded/store/data-file.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { ServerProcess } from "../../test/crash/server-process.ts";
import { ownCrds } from "../../test/kubernetes/admin-requests.ts";
import { startKubernetes } from "../../test/kubernetes/bed.ts";

export interface Subject {
  readonly name: string;
  readonly client: ObjectClient;
  /** Stops the server and starts it again on the same data; resolves when it answers. */
  readonly restart: () => Promise<ObjectClient>;
  readonly stop: () => Promise<void>;
}

export function embedded(): Promise<Subject> {
  return inThisProcess("embedded", "process-crash");
}

/** Every write on the disk before it is acknowledged, as etcd has it. */
export function embeddedWithFsync(): Promise<Subject> {
  return inThisProcess("embedded, fsync", "power-loss");
}

async function inThisProcess(name: string, durability: Durability): Promise<Subject> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-bench-"));
  const open = () => openObjectStore({ file: join(folder, "objects.db"), kinds: embeddedKindRules(), clock: systemClock, durability });
  let store = open();
  return {
    name,
    client: store,
    restart: async () => {
      store.close();
      store = open();
      return store;
    },
    stop: async () => {
      store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As the command line and other processes reach it: `agentbox up` over its unix socket. */
export async function embeddedOverSocket(): Promise<Subject> {
  const home = await mkdtemp(join(tmpdir(), "agentbox-bench-"));
  const server = new ServerProcess(home);
  await server.start();
  let client = await kubernetesClient({ socketPath: server.socketPath });
  return {
    name: "embedded, socket",
    client,
    restart: async () => {
      await client.close();
      await server.kill();
      await server.start();
      client = await kubernetesClient({ socketPath: server.socketPath });
      return client;
    },
    stop: async () => {
      await client.close();
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** etcd with fsync, as in production. */
export async function kubernetes(): Promise<Subject> {
  const bed = await startKubernetes({ crds: ownCrds(), fsync: true });
  const client = await kubernetesClient({ kubeconfig: bed.kubeconfig });
  return {
    name: "kube-apiserver",
    client,
    restart: async () => {
      await bed.restartApiServer();
      return client;
    },
    stop: async () => {
      await client.close();
      await bed.stop();
    },
  };
}
