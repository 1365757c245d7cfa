/** Writes the objects of a template. An existing object gets the new image, and keeps all other changes of its administrator. */
import { ifFound } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";

export interface Registered {
  /** Envs that were there before, and whose pods have another image now. */
  readonly stale: readonly string[];
}

interface Objects {
  readonly template: SandboxTemplate;
  readonly envs: readonly SandboxEnv[];
}

export async function registerTemplate(client: ObjectClient, { template, envs }: Objects): Promise<Registered> {
  const present = await ifFound(client.get(SandboxTemplates, { name: template.metadata.name ?? "" }));
  const next = present === undefined ? template : withImage(present, template);
  if (present === undefined) await client.create(SandboxTemplates, next);
  else if (next !== present) await client.update(SandboxTemplates, next);
  const stale: string[] = [];
  for (const env of envs) {
    const { namespace, name = "" } = env.metadata;
    if ((await ifFound(client.get(SandboxEnvs, { namespace, name }))) === undefined) await client.create(SandboxEnvs, env);
    else if (next !== present) stale.push(name);
  }
  return { stale };
}

/** The same object when nothing is to change. */
function withImage(present: SandboxTemplate, { spec }: SandboxTemplate): SandboxTemplate {
  const image = spec.template?.spec?.containers[0]?.image;
  const pod = present.spec.template?.spec;
  const [first, ...others] = pod?.containers ?? [];
  const version = nextVersion(present.spec.version);
  if (pod === undefined || first === undefined || image === undefined) {
    return { ...present, spec: { ...present.spec, ...spec, version } };
  }
  if (first.image === image && present.spec.description === spec.description) return present;
  const template = { ...present.spec.template, spec: { ...pod, containers: [{ ...first, image }, ...others] } };
  return { ...present, spec: { ...present.spec, ...withoutUndefined({ description: spec.description }), version, template } };
}

function nextVersion(version = ""): string {
  const [, head, patch] = /^(v\d+\.\d+)\.(\d+)/.exec(version) ?? [];
  return head === undefined ? "v1.0.0" : `${head}.${Number(patch) + 1}`;
}
