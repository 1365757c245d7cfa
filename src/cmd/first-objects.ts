/** What a new AgentBox starts with, so that there is something to use at once. Whoever deletes it does not get it back. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";

const note = { namespace: "kube-system", name: "agentbox-first-objects" };

const base: SandboxTemplate = {
  metadata: { name: "base" },
  spec: {
    version: "v1.0.0",
    description: "This machine's own programs under a clean root",
    runtimes: [{ name: "e2b", port: 49_983, readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 10 } }],
    template: {
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "sandbox",
            image: "host",
            resources: { limits: { cpu: "1", memory: "512Mi", "ephemeral-storage": "1Gi" }, requests: { cpu: "50m", memory: "32Mi" } },
          },
        ],
      },
    },
  },
};

const pool: SandboxPool = {
  metadata: { namespace: "default", name: "base" },
  spec: { replicas: 3, templateName: "base", podCreationImagePolicy: "PoolDefaultImage" },
};

export async function createFirstObjects(client: ObjectClient): Promise<void> {
  const done = await client.get(ConfigMaps, note).catch((error: unknown) => {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  });
  if (done !== undefined) return;
  await createUnlessThere(client, SandboxTemplates, base);
  await createUnlessThere(client, SandboxPools, pool);
  // Last, so that a start that was cut short does it again.
  await createUnlessThere(client, ConfigMaps, { metadata: note, data: { made: "SandboxTemplate base, SandboxPool default/base" } });
}

async function createUnlessThere<T extends ApiObject>(client: ObjectClient, type: ResourceType<T>, object: T): Promise<void> {
  try {
    await client.create(type, object);
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}
