/** The API servers that contract tests run on, each started the way it is really run. */
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";

export type ServerName = "embedded" | "embedded-http" | "kubernetes";

export interface StartedServer {
  readonly client: ObjectClient;
  readonly stop: () => Promise<void>;
}

export const serverStarters: Record<ServerName, () => Promise<StartedServer>> = {
  embedded: startEmbedded,
  "embedded-http": startEmbeddedHttp,
  kubernetes: joinKubernetes,
};

// Engines are imported where they are started, so that a run loads only what it uses.

async function startEmbedded(): Promise<StartedServer> {
  const { embeddedKindRules } = await import("#engines/embedded/admission/all-rules.ts");
  const { openObjectStore } = await import("#engines/embedded/store/object-store.ts");
  const folder = await mkdtemp(join(tmpdir(), "agentbox-store-"));
  const store = openObjectStore({ file: join(folder, "objects.db"), kinds: embeddedKindRules(), clock: systemClock });
  return {
    client: store,
    stop: async () => {
      store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startEmbeddedHttp(): Promise<StartedServer> {
  const { embeddedKindRules } = await import("#engines/embedded/admission/all-rules.ts");
  const { serveObjects } = await import("#engines/embedded/http/serve-objects.ts");
  const embedded = await startEmbedded();
  const folder = await mkdtemp(join(tmpdir(), "agentbox-socket-"));
  const socketPath = join(folder, "api.sock");
  const face = serveObjects({ client: embedded.client, kinds: embeddedKindRules().map((rules) => rules.resource) });
  const http = createServer(face.listener);
  await new Promise<void>((resolve) => http.listen(socketPath, resolve));
  const client = await kubernetesClient({ socketPath });
  return {
    client,
    stop: async () => {
      await client.close();
      face.stop();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
      await embedded.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One real server serves the whole run (test/kubernetes/global-setup.ts starts it); a test file only joins it. */
async function joinKubernetes(): Promise<StartedServer> {
  const client = await kubernetesClient({ kubeconfig: inject("kubeconfig") });
  return { client, stop: () => client.close() };
}
