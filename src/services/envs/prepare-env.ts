/**
 * Envs before they are written: checked, then inside the limits, and only then are the plugins asked for a snapshot of each member that needs
 * a new one. A team that is at its limit costs the plugins nothing.
 */
import { isDeepStrictEqual } from "node:util";
import { envLookups } from "#pools/env-lookups.ts";
import { foreignChoice } from "#pools/image-choice.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import { envImagePullSecretName } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { checkEnv } from "#sandbox/envs/check-env.ts";
import { hasSnapshot, isAdopted } from "#sandbox/envs/env-members.ts";
import { formatOverrides } from "#sandbox/pools/render-pool.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { maySee } from "#services/templates/template-visibility.ts";
import { admitted } from "./admit-snapshot.ts";
import type { EnvDeps } from "./env-deps.ts";
import { placeOf } from "./env-limits.ts";
import { membersHere, withMember } from "./env-parts.ts";

export interface PrepareRequest {
  readonly caller: Caller;
  readonly next: SandboxEnv;
  /** Undefined for a new Env. */
  readonly present: SandboxEnv | undefined;
  /** Whether the Env is going to have registry credentials; undefined: as it is stored. */
  readonly hasPullSecret?: boolean | undefined;
}

/** Writes the prepared Env with `write`. Throws invalid_request with the field, limit_reached, or what the plugins say. */
export async function writePrepared(
  deps: EnvDeps,
  asked: PrepareRequest,
  signal: AbortSignal,
  write: (env: SandboxEnv) => Promise<SandboxEnv>,
): Promise<SandboxEnv> {
  checkEnvOf(deps, asked.caller, asked.next);
  // A snapshot changes no numbers, so the place is that of the Env as it will be written.
  using _ = placeOf(deps, asked.next, asked.present);
  return await write(await withSnapshots(deps, asked, signal));
}

async function withSnapshots(deps: EnvDeps, asked: PrepareRequest, signal: AbortSignal): Promise<SandboxEnv> {
  const { caller, next, present, hasPullSecret } = asked;
  const clusterID = localCluster(deps);
  const known = new Map((present === undefined ? [] : membersHere(present, clusterID)).map((member) => [member.name, member]));
  let env = next;
  for (const member of membersHere(next, clusterID)) {
    if (!needsAdmission(asked, member, known.get(member.name))) continue;
    env = withMember(env, clusterID, member.name, await admitted(deps, { caller, env: next, member, hasPullSecret }, signal));
  }
  return env;
}

/** Throws invalid_request with everything that is wrong, and the field of the first of it. */
export function checkEnvOf(deps: EnvDeps, caller: Caller, env: SandboxEnv): void {
  if (caller.role === "tenant") checkTemplateOf(deps, caller, env);
  const lookups = envLookups({ cache: deps.cache, clusterID: localCluster(deps) }, env.metadata.namespace);
  const [first, ...others] = checkEnv(env, lookups);
  if (first === undefined) return;
  const message = [first, ...others].map((problem) => `${problem.field}: ${problem.message}`).join("; ");
  throw new ServiceError("invalid_request", message, { field: first.field });
}

/** True when the pool would be rendered otherwise than it is. Bounds and priorities are read from the Env itself and need no admission. */
function needsAdmission(
  { next, present, hasPullSecret }: PrepareRequest,
  member: EnvClusterMember,
  known: EnvClusterMember | undefined,
): boolean {
  // The pool was there before the Env, and stays as it is.
  if (isAdopted(next, member.name)) return false;
  if (known === undefined || !hasSnapshot(known)) return true;
  if (!isDeepStrictEqual(formatOverrides(next, member), formatOverrides(present ?? next, known))) return true;
  return hasPullSecret !== undefined && hasPullSecret !== namesPullSecret(next, known);
}

function namesPullSecret({ metadata }: SandboxEnv, { spec }: EnvClusterMember): boolean {
  const name = envImagePullSecretName(metadata.name ?? "");
  return spec?.template?.spec?.imagePullSecrets?.some((secret) => secret.name === name) === true;
}

/** Throws for a server that has no cluster id: it could not say which members are its own. */
export function localCluster({ cluster }: Pick<EnvDeps, "cluster">): string {
  if (cluster.id !== undefined) return cluster.id;
  throw new ServiceError("unavailable", "this server has no cluster id, so it cannot write Envs: start it with --cluster-id NAME");
}

/**
 * A tenant builds on templates that it sees (I8). An image of its own choice is pulled with the template's credentials, so it must come
 * from a repository that the template's images come from, or that its pod template allows.
 */
function checkTemplateOf({ cache }: EnvDeps, caller: Caller, { spec }: SandboxEnv): void {
  const { name } = spec.templateRef;
  const template = cache.templates.objects.get({ name });
  if (template === undefined || !maySee(caller, template)) {
    const message = `there is no template ${JSON.stringify(name)}`;
    throw new ServiceError("invalid_request", message, { field: "spec.templateRef.name" });
  }
  const image = spec.overrides?.image ?? "";
  if (image === "") return;
  const pool = { metadata: {}, spec: { replicas: 0, templateName: name } };
  const resolved = resolveTemplate(pool, template);
  if (resolved.kind !== "template" || foreignChoice(pool, resolved.template, image) !== "public") return;
  const field = "spec.overrides.image";
  const message =
    `${field} must come from a repository of the template's images: ${JSON.stringify(image)} does not. An admin can allow more with the ` +
    "annotation agentbox.navix.sh/image-repositories on the pod template";
  throw new ServiceError("invalid_request", message, { field });
}
