/** The snapshot of one member: admitted by the plugins, or only rendered for a preview. */
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type AdmitDeps, admitMember, type MemberRefusal, renderMember } from "#pools/admit-member.ts";
import { Secrets } from "#model/core-kinds.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import { envImagePullSecretName } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { planRefresh, type RefreshPlan } from "#sandbox/envs/refresh-member.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { asServiceError } from "../service-failure.ts";
import type { EnvDeps } from "./env-deps.ts";

export interface AdmissionRequest {
  readonly caller: Caller;
  readonly env: SandboxEnv;
  readonly member: EnvClusterMember;
  /** Whether the Env is going to have registry credentials; undefined: as it is stored. */
  readonly hasPullSecret?: boolean | undefined;
}

/** The member with a new snapshot; its replicas stay. Throws what the plugins say. */
export async function admitted(deps: EnvDeps, asked: AdmissionRequest, signal: AbortSignal): Promise<EnvClusterMember> {
  return (await planned(deps, asked, signal, admitMember)).member;
}

/** What a refresh changes, without asking the plugins, whose answer may reserve something. */
export async function previewed(deps: EnvDeps, asked: AdmissionRequest, signal: AbortSignal): Promise<RefreshPlan> {
  return await planned(deps, asked, signal, renderMember);
}

/** What a refresh changes, after the plugins have admitted it. */
export async function refreshed(deps: EnvDeps, asked: AdmissionRequest, signal: AbortSignal): Promise<RefreshPlan> {
  return await planned(deps, asked, signal, admitMember);
}

async function planned(
  deps: EnvDeps,
  { caller, env, member, hasPullSecret }: AdmissionRequest,
  signal: AbortSignal,
  render: typeof admitMember | typeof renderMember,
): Promise<RefreshPlan> {
  checkPinned(deps, env);
  if (render === admitMember && deps.plugins !== undefined) deps.pace?.take(caller);
  const client = hasPullSecret === undefined ? deps.client : withPullSecret(deps.client, env, hasPullSecret);
  const parts: AdmitDeps = { client, cache: deps.cache, plugins: deps.plugins };
  const answer = await render(parts, env, member, signal).catch((error: unknown) => {
    throw asServiceError(error);
  });
  if (answer.kind === "refused") throw refusal(answer);
  const { labels = {}, annotations = {} } = answer.metadata;
  // As the server fills it in: else every refresh would find this difference.
  const spec = { ...answer.spec, podCreationImagePolicy: answer.spec.podCreationImagePolicy ?? "IdleImage" };
  return planRefresh(member, { metadata: { labels, annotations }, spec });
}

/** Only the current version of a template can be rendered: of an earlier one there are the copies that members have. */
function checkPinned({ cache }: EnvDeps, { spec: { templateRef } }: SandboxEnv): void {
  const { name, version = "" } = templateRef;
  const current = cache.templates.objects.get({ name })?.spec.version ?? "";
  if (version === "" || version === current) return;
  const field = "spec.templateRef.version";
  const now = current === "" ? "has no version" : `is at version ${current}`;
  const right = current === "" ? "leave it out" : `set it to ${current}, or leave it out`;
  throw new ServiceError("conflict", `${field} is ${version}, and the template ${name} ${now}: ${right}`, { field });
}

/** A cluster that has no room may have some later; a plugin that does not answer may answer later; all else is for the caller to change. */
const codes: Readonly<Record<string, ErrorCode>> = { InsufficientResources: "conflict", Internal: "unavailable" };

function refusal({ field, reason, message, retryAfterMs }: MemberRefusal): ServiceError {
  const retry = retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) };
  return new ServiceError(codes[reason] ?? "invalid_request", message, { field, ...retry });
}

/** The Secret belongs to the Env, so it is written after the Env; the rendering asks for it before. */
function withPullSecret(client: EnvDeps["client"], env: SandboxEnv, isThere: boolean): Pick<ObjectClient, "get"> {
  const name = envImagePullSecretName(env.metadata.name ?? "");
  return {
    get: async (type, key, options) => {
      if (type.kind !== Secrets.kind || key.name !== name) return await client.get(type, key, options);
      if (isThere) return { metadata: { name } } satisfies ApiObject as never;
      throw new ApiError("NotFound", `secrets ${JSON.stringify(name)} not found`);
    },
  };
}
