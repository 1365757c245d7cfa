/**
 * Keeps Envs: a pool for each member in this cluster, and a status that says how they stand. The pods of these pools are `controllers/pool`;
 * how many they should be is `controllers/scaling`, which writes members' replicas; pools that were there before their Env are
 * `controllers/adoption`.
 *
 * - `reconcile-env.ts`    the order of it all, and the loop
 * - `plan-member.ts`      what is to be done about a member (pure); `keep-members.ts` does it
 * - `retire-pools.ts`     pools without a member
 * - `hold-env.ts`         the finalizer, and the end of an Env
 * - `observe-members.ts`, `env-conditions.ts`, `env-status.ts` the status (pure); `write-status.ts`, `tell-env.ts` events
 * - `env-deps.ts`         what all of them work with
 *
 * What is wrong with an Env is decided in `sandbox/envs/check-env.ts`, and as long as something is, nothing is made and nothing is removed.
 */
import { isDeepStrictEqual } from "node:util";
import { type Controller, startController } from "#kube/controller/controller.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { envsByMember, envsByTemplateName, envValue } from "#read-model/indexes.ts";
import { envLookups } from "#pools/env-lookups.ts";
import { envOwnerKind, labelKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { checkEnv } from "#sandbox/envs/check-env.ts";
import { membersIn } from "#sandbox/envs/env-members.ts";
import { againJitter, defaultEnvPace, type EnvDeps, type EnvTools, keyOf } from "./env-deps.ts";
import { finishEnv, holdEnv } from "./hold-env.ts";
import { keepPools, keepSnapshots } from "./keep-members.ts";
import { poolsWithoutMember, retirePool } from "./retire-pools.ts";
import { writeStatus } from "./write-status.ts";

const concurrency = 4;
const lostRaceMs = 100;

/** Brings one Env to where it should be. May run at any time, any number of times. */
export async function reconcileEnv(tools: EnvTools, key: Key, signal: AbortSignal): Promise<Requeue> {
  const seen = tools.cache.envs.objects.get(key);
  if (seen === undefined) {
    tools.memories.delete(formatKey(key));
    return undefined;
  }
  if (seen.metadata.deletionTimestamp !== undefined) {
    if (await finishEnv(tools, seen, signal)) return undefined;
    return again(tools, await writeStatus(tools, seen, [], signal));
  }
  const held = await holdEnv(tools, seen, signal);
  // The Env has changed meanwhile, and a changed status alone does not wake us.
  if (held === undefined) return { afterMs: lostRaceMs };
  const problems = checkEnv(held, envLookups(tools, held.metadata.namespace));
  const isRight = problems.length === 0;
  const env = isRight ? await keepSnapshots(tools, held, signal) : held;
  if (env === undefined) return { afterMs: lostRaceMs };
  await keepPools(tools, env, isRight, signal);
  if (isRight) {
    const names = membersIn(env, tools.clusterID).map(({ member }) => member.name);
    for (const pool of poolsWithoutMember(tools, env, names)) await retirePool(tools, env, pool, signal);
  }
  return again(tools, await writeStatus(tools, env, problems, signal));
}

/** Never all Envs in one moment, however many were seen first in one. */
function again({ pace, random }: EnvTools, statusMs: number | undefined): Requeue {
  if (statusMs !== undefined) return { afterMs: statusMs, exact: true };
  return { afterMs: Math.round(pace.againMs * (1 - againJitter + 2 * againJitter * random())), exact: true, routine: true };
}

export function startEnvController(deps: EnvDeps): Controller {
  const tools: EnvTools = { ...deps, pace: { ...defaultEnvPace, ...deps.pace }, memories: new Map() };
  const { cache } = deps;
  const forgetEvents = cache.envs.onChange((now, before) => {
    if (now === undefined && before?.metadata.uid !== undefined) deps.events.forget(before.metadata.uid);
  });
  return startController(deps, {
    name: "env",
    concurrency,
    reconcile: (key, signal) => reconcileEnv(tools, key, signal),
    sources: [
      changesOf(cache.envs, { when: (now, before) => !isDeepStrictEqual(partsOf(now), partsOf(before)) }),
      changesOf(cache.pools, { keys: (pool) => envKeys(deps, pool) }),
      changesOf(cache.templates, {
        keys: ({ metadata: { name = "" } }) => cache.envs.objects.lookup(envsByTemplateName, name).map(keyOf).toArray(),
        when: (now, before) => !isDeepStrictEqual(templateParts(now), templateParts(before)),
      }),
      ...(cache.instanceTypeCatalogue === undefined ? [] : [instanceTypeChanges(deps)]),
    ],
    following: [() => forgetEvents.remove()],
  });
}

/** All of an Env but its status, which we write ourselves. */
function partsOf(env: SandboxEnv | undefined): readonly unknown[] {
  const { uid, generation, labels, annotations, finalizers, deletionTimestamp } = env?.metadata ?? {};
  return [uid, generation, labels, annotations, finalizers, deletionTimestamp];
}

function templateParts(template: SandboxTemplate | undefined): readonly unknown[] {
  const { uid, generation } = template?.metadata ?? {};
  return [uid, generation];
}

/** The Env that it belongs to, and every Env that would like its name. */
function envKeys({ cache }: EnvDeps, { metadata: { namespace, name = "", labels, ownerReferences = [] } }: SandboxPool): readonly Key[] {
  const owners = ownerReferences.filter(({ kind }) => kind === envOwnerKind).map((owner) => owner.name);
  const wishing = cache.envs.objects.lookup(envsByMember, envValue({ namespace, name })).map((env) => env.metadata.name ?? "");
  const names = new Set([...owners, ...wishing, ...(labels?.[labelKeys.env] === undefined ? [] : [labels[labelKeys.env] ?? ""])]);
  return [...names].filter((one) => one !== "").map((one) => ({ namespace, name: one }));
}

/** Rare, so that all Envs that use one are looked at. */
function instanceTypeChanges({ cache }: EnvDeps): Source {
  return {
    connect: (add) => {
      const tellAll = (): void => {
        for (const env of cache.envs.objects.list()) if (isTyped(env)) add(keyOf(env));
      };
      return cache.instanceTypeCatalogue?.onChange(tellAll) ?? { whenSynced: async () => {}, remove: () => {} };
    },
  };
}

function isTyped({ spec }: SandboxEnv): boolean {
  return (spec.clusters ?? []).some(({ members = [] }) => members.some(({ config }) => (config?.instanceType ?? "") !== ""));
}
