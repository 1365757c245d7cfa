/**
 * The snapshot of an Env's member: the pool as it is rendered now, after the plugins have seen it. Used for members that are added or
 * refreshed, and for members that were written without a snapshot.
 */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { Secrets } from "#model/core-kinds.ts";
import type { EnvClusterMember, MemberMetadata } from "#model/env-member.ts";
import { instanceTypeFault, multiplierFault } from "#model/instance-types.ts";
import { envImagePullSecretName } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool, SandboxPoolSpec } from "#model/sandbox-pool.ts";
import type { PluginChain, RefusalKind } from "#plugins/plugin.ts";
import { allMembers } from "#sandbox/envs/env-members.ts";
import { type RenderedPool, renderPool } from "#sandbox/pools/render-pool.ts";

export interface AdmitDeps {
  readonly client: Pick<ObjectClient, "get">;
  readonly cache: Pick<SandboxCache, "templates" | "instanceTypes">;
  /** All are admitted as they are rendered when left out. */
  readonly plugins?: Pick<PluginChain, "preCreatePool"> | undefined;
}

export interface MemberRefusal {
  readonly kind: "refused";
  /** Path in the Env. */
  readonly field: string;
  readonly reason: "TemplateMissing" | "InstanceTypeMissing" | "MultiplierOutOfRange" | RefusalKind;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

export interface AdmittedMember {
  readonly kind: "admitted";
  readonly metadata: MemberMetadata;
  readonly spec: SandboxPoolSpec;
}

export type MemberAdmission = AdmittedMember | MemberRefusal;

/** Asks the plugins, whose answer may reserve something: once for each member that is added or refreshed. */
export async function admitMember(
  deps: AdmitDeps,
  env: SandboxEnv,
  member: EnvClusterMember,
  signal: AbortSignal,
): Promise<MemberAdmission> {
  const rendered = await renderMember(deps, env, member, signal);
  if (rendered.kind === "refused" || deps.plugins === undefined) return rendered;
  const { metadata, spec } = rendered;
  const pool: SandboxPool = { metadata: { ...metadata, namespace: env.metadata.namespace ?? "", name: member.name }, spec };
  const verdict = await deps.plugins.preCreatePool(pool, signal);
  if ("refusal" in verdict) {
    const { kind: reason, message, plugin, retryAfterMs } = verdict.refusal;
    return { kind: "refused", field: fieldOf(env, member), reason, message: `plugin ${plugin}: ${message}`, retryAfterMs };
  }
  const { labels = {}, annotations = {} } = verdict.object.metadata;
  return { kind: "admitted", metadata: { labels, annotations }, spec: verdict.object.spec };
}

/** Without the plugins, and so without side effects: what a preview shows. */
export async function renderMember(
  { client, cache }: Omit<AdmitDeps, "plugins">,
  env: SandboxEnv,
  member: EnvClusterMember,
  signal: AbortSignal,
): Promise<({ readonly kind: "admitted" } & RenderedPool) | MemberRefusal> {
  const { name } = env.spec.templateRef;
  const refused = (field: string, reason: MemberRefusal["reason"], message: string): MemberRefusal => ({
    kind: "refused",
    field,
    reason,
    message,
  });
  const template = cache.templates.objects.get({ name });
  if (template === undefined) {
    return refused("spec.templateRef.name", "TemplateMissing", `there is no SandboxTemplate ${name}; create it, or name one that exists`);
  }
  const { instanceType: typeName = "", multiplier = 1 } = member.config ?? {};
  const types = cache.instanceTypes();
  const unknown = typeName === "" ? undefined : instanceTypeFault(types, typeName);
  if (unknown !== undefined) return refused(`${fieldOf(env, member)}.config.instanceType`, "InstanceTypeMissing", unknown);
  const instanceType = types.types.get(typeName);
  const fault = instanceType && multiplierFault(instanceType, multiplier);
  if (fault !== undefined) return refused(`${fieldOf(env, member)}.config.multiplier`, "MultiplierOutOfRange", fault);
  const pullSecret = await pullSecretOf(client, env, signal);
  return { kind: "admitted", ...renderPool({ env, member, template, instanceType, pullSecret }) };
}

/** The name of the Secret with the Env's registry credentials; undefined when there is none, or it may not be read. */
export async function pullSecretOf(
  client: Pick<ObjectClient, "get">,
  { metadata: { namespace, name = "" } }: SandboxEnv,
  signal: AbortSignal,
): Promise<string | undefined> {
  const secret = envImagePullSecretName(name);
  try {
    await client.get(Secrets, { namespace, name: secret }, { signal });
    return secret;
  } catch (error) {
    if (isApiError(error, "NotFound", "Forbidden")) return undefined;
    throw error;
  }
}

function fieldOf(env: SandboxEnv, { name }: EnvClusterMember): string {
  return allMembers(env).find(({ member }) => member.name === name)?.field ?? "spec.clusters";
}
