/** The finalizer of an Env: it stays until its pools are gone or given back, or the garbage collector would delete them with their sandboxes. */
import { isLostRace } from "#kube/lost-race.ts";
import { finalizers } from "#model/keys.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type EnvTools, keyOf } from "./env-deps.ts";
import { poolsWithoutMember, retirePool } from "./retire-pools.ts";

/** With this one a delete asks the garbage collector to leave the pools behind. It works before we do. */
const orphanFinalizer = "orphan";

/** The Env with our finalizer; undefined when it has changed meanwhile. */
export async function holdEnv(tools: EnvTools, env: SandboxEnv, signal: AbortSignal): Promise<SandboxEnv | undefined> {
  const present = env.metadata.finalizers ?? [];
  if (present.includes(finalizers.envMembers)) return env;
  return patchFinalizers(tools, env, [...present, finalizers.envMembers], signal);
}

/** True when the Env is free to go. */
export async function finishEnv(tools: EnvTools, env: SandboxEnv, signal: AbortSignal): Promise<boolean> {
  const present = env.metadata.finalizers ?? [];
  if (!present.includes(finalizers.envMembers)) return true;
  if (present.includes(orphanFinalizer)) return false;
  const pools = poolsWithoutMember(tools, env, []);
  for (const pool of pools) await retirePool(tools, env, pool, signal);
  if (poolsWithoutMember(tools, env, []).length > 0) return false;
  await patchFinalizers(
    tools,
    env,
    present.filter((one) => one !== finalizers.envMembers),
    signal,
  );
  return true;
}

async function patchFinalizers(
  { client, cache }: EnvTools,
  env: SandboxEnv,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<SandboxEnv | undefined> {
  const { resourceVersion = "" } = env.metadata;
  const body = { metadata: { resourceVersion, finalizers: wanted.length === 0 ? null : wanted } };
  try {
    const written = await client.patch(SandboxEnvs, keyOf(env), { type: "merge", body }, { signal });
    // One that went with its last finalizer is no more.
    if (written.metadata.deletionTimestamp === undefined) cache.envs.remember(written);
    return written;
  } catch (error) {
    if (isLostRace(error)) return undefined;
    throw error;
  }
}
