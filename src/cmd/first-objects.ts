/** What a new AgentBox starts with, so that there is something to use at once. Whoever deletes it does not get it back. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";

const note = { namespace: "kube-system", name: "agentbox-first-objects" };

interface First {
  readonly template: SandboxTemplate;
  readonly pool: SandboxPool;
}

const daemon = { name: "e2b", port: 49_983, readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 10 } };

const base = first("base", {
  description: "This machine's own programs under a clean root",
  runtimes: [daemon],
  memory: "512Mi",
  replicas: 3,
});

const codeInterpreter = first("code-interpreter-v1", {
  description:
    "Runs pieces of Python, JavaScript, TypeScript and bash one after the other; the template that the code-interpreter SDKs ask for",
  runtimes: [daemon, { name: "code-interpreter", port: 49_999 }],
  memory: "1Gi",
  replicas: 2,
});

interface FirstOptions {
  readonly description: string;
  readonly runtimes: NonNullable<SandboxTemplate["spec"]["runtimes"]>;
  readonly memory: string;
  readonly replicas: number;
}

function first(name: string, { description, runtimes, memory, replicas }: FirstOptions): First {
  const limits = { cpu: "1", memory, "ephemeral-storage": "1Gi" };
  const container = { name: "sandbox", image: "host", resources: { limits, requests: { cpu: "50m", memory: "32Mi" } } };
  return {
    template: {
      metadata: { name },
      spec: {
        version: "v1.0.0",
        description,
        runtimes,
        template: { spec: { terminationGracePeriodSeconds: 1, containers: [container] } },
      },
    },
    pool: {
      metadata: { namespace: "default", name },
      spec: { replicas, templateName: name, podCreationImagePolicy: "PoolDefaultImage" },
    },
  };
}

/** Each once in the life of an installation: one from before there was a second gets the second, and not the first again. */
export async function createFirstObjects(client: ObjectClient): Promise<void> {
  const done = await client.get(ConfigMaps, note).catch((error: unknown) => {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  });
  const made = done?.data?.["made"]?.split(", ") ?? [];
  const missing = [base, codeInterpreter].filter((own) => !made.includes(poolText(own)));
  if (missing.length === 0) return;
  for (const { template, pool } of missing) {
    await createUnlessThere(client, SandboxTemplates, template);
    await createUnlessThere(client, SandboxPools, pool);
  }
  const data = {
    made: [...made, ...missing.flatMap((own) => [`SandboxTemplate ${own.template.metadata.name}`, poolText(own)])].join(", "),
  };
  // Last, so that a start that was cut short does it again.
  if (done === undefined) await createUnlessThere(client, ConfigMaps, { metadata: note, data });
  else await client.patch(ConfigMaps, note, { type: "merge", body: { data } });
}

function poolText({ pool: { metadata } }: First): string {
  return `SandboxPool ${metadata.namespace}/${metadata.name}`;
}

async function createUnlessThere<T extends ApiObject>(client: ObjectClient, type: ResourceType<T>, object: T): Promise<void> {
  try {
    await client.create(type, object);
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}
