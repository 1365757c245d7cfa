/**
 * Gives Envs to pools that were there before: those with annotation adopt "true", or all of them where the server is told so. From then on
 * pool and Env are kept equal; when the Env is taken away, the Env controller gives the pool back as it was.
 *
 * - `reconcile-adoption.ts` the loop, keyed by the name that pool and Env share, and the writes
 * - `plan-adoption.ts`      which write comes next (pure)
 */
import { isDeepStrictEqual } from "node:util";
import { isApiError } from "#kube/api-error.ts";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { EventRecorder } from "#kube/events/event-recorder.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { poolsByTemplateName } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { annotationKeys, ownGroup, ownVersion } from "#model/keys.ts";
import type { ApiObject, Json } from "#model/meta.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { ownerReferenceTo } from "../env/plan-member.ts";
import { type AdoptionStep, planAdoption } from "./plan-adoption.ts";

export interface AdoptionDeps extends ControllerDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "envs" | "pools" | "templates">;
  readonly clusterID: string;
  /** Every pool that does not say no gets an Env. Only those that ask for one when left out. */
  readonly adoptPools?: boolean | undefined;
  readonly events: Pick<EventRecorder, "record">;
}

const lostRaceMs = 100;

/** One write at a time; each wakes us for the next. */
async function reconcileAdoption(deps: AdoptionDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const { cache, clusterID, adoptPools = false } = deps;
  const pool = cache.pools.objects.get(key);
  const template = pool?.spec.templateName === undefined ? undefined : cache.templates.objects.get({ name: pool.spec.templateName });
  const step = planAdoption({ pool, env: cache.envs.objects.get(key), template, clusterID, adoptPools });
  try {
    await write(deps, key, step, signal);
  } catch (error) {
    if (!isLostRace(error) && !isApiError(error, "AlreadyExists")) throw error;
    // Pool or Env have changed meanwhile, and a changed status alone does not wake us.
    return { afterMs: lostRaceMs };
  }
  if (step.kind === "name-taken" && pool !== undefined) tellTaken(deps, pool);
  return undefined;
}

async function write(deps: AdoptionDeps, key: Key, step: AdoptionStep, signal: AbortSignal): Promise<void> {
  const { client, cache } = deps;
  switch (step.kind) {
    case "nothing":
    case "name-taken":
      return;
    case "make-env":
      cache.envs.remember(await client.create(SandboxEnvs, step.env, { signal }));
      return;
    case "delete-env": {
      const { uid = "", resourceVersion = "" } = step.env.metadata;
      return client.delete(SandboxEnvs, key, { preconditions: { uid, resourceVersion }, signal });
    }
    case "mark-pool":
      return markPool(deps, key, step, signal);
    case "pool-follows":
      cache.pools.remember(await client.update(SandboxPools, step.pool, { signal }));
      return;
    case "env-follows":
    case "note-generation":
      return changeEnv(deps, key, step, signal);
  }
}

async function markPool(
  { client, cache }: AdoptionDeps,
  key: Key,
  { env, labels }: Extract<AdoptionStep, { kind: "mark-pool" }>,
  signal: AbortSignal,
): Promise<void> {
  const pool = cache.pools.objects.get(key);
  if (pool === undefined) return;
  const { resourceVersion = "", ownerReferences = [] } = pool.metadata;
  const others = ownerReferences.filter(({ uid }) => uid !== env.metadata.uid);
  const owners = [...others, ownerReferenceTo(env, false)].map((owner) => ({ ...owner }));
  const body = { metadata: { resourceVersion, labels, ownerReferences: owners } };
  cache.pools.remember(await client.patch(SandboxPools, key, { type: "merge", body }, { signal }));
}

/** The list entry of the pool, and the generation that it was read at, in one write. */
async function changeEnv(
  { client, cache }: AdoptionDeps,
  key: Key,
  step: Extract<AdoptionStep, { kind: "env-follows" | "note-generation" }>,
  signal: AbortSignal,
): Promise<void> {
  const generation = String(cache.pools.objects.get(key)?.metadata.generation ?? 0);
  const annotation = annotationKeys.adoptedGeneration.replaceAll("/", "~1");
  const operations = [
    { op: "test", path: "/metadata/resourceVersion", value: step.env.metadata.resourceVersion ?? "" },
    { op: "add", path: `/metadata/annotations/${annotation}`, value: generation },
    ...(step.kind === "env-follows"
      ? ([{ op: "replace", path: step.placed.pointer, value: step.member as unknown as Json }] as const)
      : []),
  ] as const;
  cache.envs.remember(await client.patch(SandboxEnvs, key, { type: "json", operations }, { signal }));
}

function tellTaken({ events }: AdoptionDeps, { metadata: { namespace, name = "", uid = "" } }: SandboxPool): void {
  const message = `the pool is to get an Env of its own name, and another Env is called ${name} already; rename that Env, or set annotation ${annotationKeys.adopt}: "false"`;
  events.record(
    { apiVersion: `${ownGroup}/${ownVersion}`, kind: "SandboxPool", namespace, name, uid },
    { type: "Warning", reason: "NotAdopted", message },
  );
}

export function startAdoptionController(deps: AdoptionDeps): Controller {
  const { cache } = deps;
  return startController(deps, {
    name: "adoption",
    reconcile: (key, signal) => reconcileAdoption(deps, key, signal),
    sources: [
      changesOf(cache.pools, { when: isMoreThanStatus }),
      changesOf(cache.envs, { when: isMoreThanStatus }),
      changesOf(cache.templates, {
        keys: ({ metadata: { name = "" } }) => cache.pools.objects.lookup(poolsByTemplateName, name).map(keyOf).toArray(),
        // Its status changes with each of its pools, and would wake all of them.
        when: isMoreThanStatus,
      }),
    ],
  });
}

function isMoreThanStatus(now: ApiObject | undefined, before: ApiObject | undefined): boolean {
  return !isDeepStrictEqual(partsOf(now), partsOf(before));
}

function partsOf(object: ApiObject | undefined): readonly unknown[] {
  const { uid, generation, labels, annotations, ownerReferences, deletionTimestamp } = object?.metadata ?? {};
  return [uid, generation, labels, annotations, ownerReferences, deletionTimestamp];
}

function keyOf({ metadata: { namespace, name = "" } }: ApiObject): Key {
  return { namespace, name };
}
