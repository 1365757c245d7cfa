/**
 * What a new AgentBox starts with, so that there is something to use at once: templates, and an Env of each that grows with demand as far
 * as the machine can hold. What a user deletes does not come back.
 */
import { ifFound, isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { annotationKeys, localClusterID } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ReadyTemplateName } from "#model/ready-templates.ts";
import type { ResourceType } from "#model/resource.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import { demandGroup, envNamespace, hostDescription, templateObjects } from "#ready-templates/template-objects.ts";

const note = { namespace: "kube-system", name: "agentbox-first-objects" };

interface First {
  readonly template: SandboxTemplate;
  readonly env: SandboxEnv;
}

const base = first("base", hostDescription);

const codeInterpreter = first(
  "code-interpreter",
  "Runs pieces of Python, JavaScript, TypeScript and bash one after the other; the template that the code-interpreter SDKs ask for",
);

function first(name: ReadyTemplateName, description: string): First {
  const { template, envs } = templateObjects(name, "host", description);
  return { template, env: envs[0] };
}

/** For a pool that an earlier version made: the pool becomes the member of its Env, as it is, and its pods and sandboxes stay. */
function envAround({ spec, metadata: { name = "", generation = 0 } }: SandboxPool, { env }: First): SandboxEnv {
  return {
    metadata: { namespace: envNamespace, name, annotations: { [annotationKeys.adoptedGeneration]: String(generation) } },
    spec: {
      templateRef: { name: spec.templateName ?? name },
      mode: env.spec.mode,
      clusters: [{ clusterID: localClusterID, members: [{ name, spec, config: { scalingGroup: demandGroup(0).name } }] }],
      autoscaling: { groups: [demandGroup(spec.replicas)] },
    },
  };
}

/** Each once in the life of an installation: one from before there was a second gets the second, and not the first again. */
export async function createFirstObjects(client: ObjectClient): Promise<void> {
  const done = await ifFound(client.get(ConfigMaps, note));
  const made = done?.data?.["made"]?.split(", ") ?? [];
  const missing = [base, codeInterpreter].filter((own) => !made.includes(textOf("SandboxEnv", own)));
  if (missing.length === 0) return;
  for (const own of missing) await (made.includes(textOf("SandboxPool", own)) ? carryOver(client, own) : make(client, own));
  const data = {
    made: [
      ...new Set([...made, ...missing.flatMap((own) => [`SandboxTemplate ${own.template.metadata.name}`, textOf("SandboxEnv", own)])]),
    ].join(", "),
  };
  // Last, so that a start that was cut short does it again.
  if (done === undefined) await createUnlessThere(client, ConfigMaps, { metadata: note, data });
  else await client.patch(ConfigMaps, note, { type: "merge", body: { data } });
}

async function make(client: ObjectClient, { template, env }: First): Promise<void> {
  await createUnlessThere(client, SandboxTemplates, template);
  await createUnlessThere(client, SandboxEnvs, env);
}

/** A pool that its user has deleted stays deleted. */
async function carryOver(client: ObjectClient, own: First): Promise<void> {
  const pool = await ifFound(client.get(SandboxPools, { namespace: envNamespace, name: own.env.metadata.name ?? "" }));
  if (pool !== undefined) await createUnlessThere(client, SandboxEnvs, envAround(pool, own));
}

function textOf(kind: "SandboxEnv" | "SandboxPool", { env: { metadata } }: First): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

async function createUnlessThere<T extends ApiObject>(client: ObjectClient, type: ResourceType<T>, object: T): Promise<void> {
  try {
    await client.create(type, object);
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
  }
}
