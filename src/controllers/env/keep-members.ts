/** Brings the members of an Env to where they should be: snapshots first, then their pools. What is to be done is `plan-member.ts`. */
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { type AdmittedMember, admitMember, pullSecretOf } from "#pools/admit-member.ts";
import { conditionIn } from "#model/conditions.ts";
import { envImagePullSecretName, poolConditionReasons, poolConditions } from "#model/keys.ts";
import type { Json } from "#model/meta.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { hasSnapshot, isAdopted, membersIn, type PlacedMember } from "#sandbox/envs/env-members.ts";
import { withPullSecret } from "#sandbox/pools/render-pool.ts";
import { type EnvTools, keyOf, memoryOf } from "./env-deps.ts";
import { planPool, planSnapshot } from "./plan-member.ts";
import { tellEnv } from "./tell-env.ts";

/** Members whose pools this controller manages. Adopted pools are managed by `controllers/adoption`. */
export function keptMembers({ clusterID }: Pick<EnvTools, "clusterID">, env: SandboxEnv): readonly PlacedMember[] {
  return membersIn(env, clusterID).filter(({ member }) => !isAdopted(env, member.name));
}

export function poolOfMember({ cache }: Pick<EnvTools, "cache">, env: SandboxEnv, name: string): SandboxPool | undefined {
  return cache.pools.objects.get({ namespace: env.metadata.namespace, name });
}

/** The Env as it is afterwards; undefined when it has changed meanwhile, which wakes us again. */
export async function keepSnapshots(tools: EnvTools, env: SandboxEnv, signal: AbortSignal): Promise<SandboxEnv | undefined> {
  let current = env;
  for (const placed of keptMembers(tools, env)) {
    const written = await keepSnapshot(tools, current, placed, signal);
    if (written === undefined) return undefined;
    current = written;
  }
  return addPullSecret(tools, current, signal);
}

async function keepSnapshot(tools: EnvTools, env: SandboxEnv, placed: PlacedMember, signal: AbortSignal): Promise<SandboxEnv | undefined> {
  const step = planSnapshot(env, placed, poolOfMember(tools, env, placed.member.name));
  if (step.kind === "kept") return env;
  if (step.kind === "restore") return writeSnapshot(tools, env, { placed, ...step }, signal);
  const { refusals } = memoryOf(tools, keyOf(env));
  const { name } = placed.member;
  const { generation } = env.metadata;
  const before = refusals.get(name);
  const now = tools.clock.now();
  if (before !== undefined && before.generation === generation && before.untilMs > now) return env;
  const admission = await admitMember(tools, env, placed.member, signal);
  if (admission.kind === "refused") {
    refusals.set(name, { refusal: admission, generation, untilMs: now + (admission.retryAfterMs ?? tools.pace.refusedMs) });
    tellEnv(tools, env, { type: "Warning", reason: "MemberRefused", message: `member ${name}: ${admission.message}` });
    return env;
  }
  refusals.delete(name);
  return writeSnapshot(tools, env, { placed, ...admission }, signal);
}

interface Snapshot extends Pick<AdmittedMember, "metadata" | "spec"> {
  readonly placed: PlacedMember;
}

/** One list entry, on the very Env that it was decided on: two writers of two members lose nothing (W3). */
async function writeSnapshot(
  { client, cache }: Pick<EnvTools, "client" | "cache">,
  env: SandboxEnv,
  { placed: { pointer, member }, metadata, spec }: Snapshot,
  signal: AbortSignal,
): Promise<SandboxEnv | undefined> {
  const operations = [
    { op: "test", path: "/metadata/resourceVersion", value: env.metadata.resourceVersion ?? "" },
    { op: "test", path: `${pointer}/name`, value: member.name },
    { op: "add", path: `${pointer}/metadata`, value: metadata as unknown as Json },
    { op: "add", path: `${pointer}/spec`, value: spec as unknown as Json },
  ] as const;
  try {
    const written = await client.patch(SandboxEnvs, keyOf(env), { type: "json", operations }, { signal });
    cache.envs.remember(written);
    return written;
  } catch (error) {
    if (isLostRace(error)) return undefined;
    throw error;
  }
}

/** Credentials that came after the members: the snapshots name them from then on. Nothing else of them changes. */
async function addPullSecret(tools: EnvTools, env: SandboxEnv, signal: AbortSignal): Promise<SandboxEnv | undefined> {
  const name = envImagePullSecretName(env.metadata.name ?? "");
  const lacking = ({ member }: PlacedMember): boolean =>
    hasSnapshot(member) && !(member.spec.template?.spec?.imagePullSecrets ?? []).some((secret) => secret.name === name);
  const members = keptMembers(tools, env).filter(lacking);
  if (members.length === 0 || !isSecretDue(tools, env, members)) return env;
  memoryOf(tools, keyOf(env)).secretLookedAtMs = tools.clock.now();
  const secret = await pullSecretOf(tools.client, env, signal);
  if (secret === undefined) return env;
  let current: SandboxEnv | undefined = env;
  for (const placed of members) {
    const { metadata = {}, spec } = placed.member;
    if (current !== undefined && spec !== undefined) {
      current = await writeSnapshot(tools, current, { placed, metadata, spec: withPullSecret(spec, secret) }, signal);
    }
  }
  return current;
}

/** A missing image is the usual reason for adding credentials. */
function isSecretDue(tools: EnvTools, env: SandboxEnv, members: readonly PlacedMember[]): boolean {
  const lacksImage = members.some(({ member }) => {
    const pool = poolOfMember(tools, env, member.name);
    return pool !== undefined && conditionIn(pool, poolConditions.degraded)?.reason === poolConditionReasons.imageUnavailable;
  });
  const everyMs = lacksImage ? tools.pace.secretInTroubleMs : tools.pace.secretEveryMs;
  const { secretLookedAtMs } = memoryOf(tools, keyOf(env));
  return secretLookedAtMs === undefined || secretLookedAtMs + everyMs <= tools.clock.now();
}

/** `create`: false while something is wrong with the Env: what is there is kept, and nothing is added. */
export async function keepPools(tools: EnvTools, env: SandboxEnv, create: boolean, signal: AbortSignal): Promise<void> {
  for (const { member } of keptMembers(tools, env)) {
    if (!hasSnapshot(member)) continue;
    const step = planPool(env, member, poolOfMember(tools, env, member.name));
    if (step.kind === "create" && create) await createPool(tools, env, step.pool, signal);
    if (step.kind === "change") await changePool(tools, step.pool, signal);
  }
}

async function createPool(tools: EnvTools, env: SandboxEnv, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  try {
    tools.cache.pools.remember(await tools.client.create(SandboxPools, pool, { signal }));
  } catch (error) {
    // Another pool has the name, or our own is not in the cache yet: either wakes us again.
    if (isApiError(error, "AlreadyExists")) return;
    throw error;
  }
  const message = `pool ${pool.metadata.name ?? ""} was made, for ${pool.spec.replicas} pods`;
  tellEnv(tools, env, { type: "Normal", reason: "MemberCreated", message });
}

/** Replaced as a whole, on the state that was seen: a field that the snapshot has no more must go. */
async function changePool({ client, cache }: EnvTools, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  try {
    cache.pools.remember(await client.update(SandboxPools, pool, { signal }));
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}
