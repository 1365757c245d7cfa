/** Brings the number of a pool's pods to what is wanted. */
import { isApiError } from "#kube/api-error.ts";
import { podsByPoolAndSlot, slotValue } from "#kube/sandbox-cache/indexes.ts";
import { finalizers } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { idleContainerImages } from "#sandbox/images.ts";
import { renderPod } from "#sandbox/render-pod.ts";
import { type PoolTemplate, resolveTemplate } from "#sandbox/resolve-template.ts";
import { countPods, replicasOf } from "./pool-counts.ts";
import type { PoolDeps } from "./pool-deps.ts";

export async function scalePool(deps: PoolDeps, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const missing = pool.spec.replicas - replicasOf(countPods(deps.cache, pool));
  if (missing > 0) await createPods(deps, pool, missing, signal);
  if (missing < 0) await deleteIdlePods(deps, pool, -missing);
}

async function createPods(deps: PoolDeps, pool: SandboxPool, count: number, signal: AbortSignal): Promise<void> {
  const template = templateOf(deps, pool);
  const digests = await digestsOf(deps, template, signal);
  const key = { namespace: pool.metadata.namespace, name: pool.metadata.name ?? "" };
  const names = Array.from({ length: count }, () => `${key.name}-${suffix(deps.random)}`);
  const pods = names.map((name) => rendered(deps, pool, { template, name, digests }));
  // Said before the first call: what is created while we wait for an answer may be seen before the answer.
  deps.expectations.expectCreations(key, names);
  let next = 0;
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let pod = pods[next++]; pod !== undefined; pod = pods[next++]) {
      try {
        await deps.client.create(Pods, pod, { signal });
      } catch (error) {
        deps.expectations.creationFailed(key, pod.metadata.name ?? "");
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, deps.creationsAtOnce) }, worker));
  if (failures.length > 0) throw failures[0];
}

function templateOf({ cache }: PoolDeps, pool: SandboxPool): PoolTemplate {
  const { templateName } = pool.spec;
  const named = templateName === undefined ? undefined : cache.templates.objects.get({ name: templateName });
  const resolved = resolveTemplate(pool, named);
  if (resolved.kind === "missing-template") throw new Error(`the pool names the template ${resolved.name}, and there is none of that name`);
  return resolved.template;
}

async function digestsOf({ digests }: PoolDeps, template: PoolTemplate, signal: AbortSignal): Promise<Record<string, string>> {
  const initImages = template.template?.spec?.initContainers?.flatMap(({ image }) => image ?? []) ?? [];
  const images = new Set([...Object.values(idleContainerImages(template)), ...initImages]);
  const resolved = await Promise.all(
    Array.from(images, async (image) => [image, (await digests.resolve(image, { signal })).digest] as const),
  );
  return Object.fromEntries(resolved);
}

interface NewPod {
  readonly template: PoolTemplate;
  readonly name: string;
  readonly digests: Readonly<Record<string, string>>;
}

function rendered({ publicKey }: PoolDeps, pool: SandboxPool, { template, name, digests }: NewPod): Pod {
  const result = renderPod({ pool, template, name, digests, publicKey });
  if (result.kind === "pod") return result.pod;
  throw new Error(result.kind === "unresolved" ? `no digest is known of ${result.missing.join(", ")}` : result.message);
}

const alphabet = "bcdfghjklmnpqrstvwxz2456789";

function suffix(random: () => number): string {
  return Array.from({ length: 8 }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
}

/** The longest idle go first, each only in the state in which it was seen: one that is claimed meanwhile stays (I4). */
async function deleteIdlePods(deps: PoolDeps, pool: SandboxPool, count: number): Promise<void> {
  const { namespace = "", name = "" } = pool.metadata;
  const idle = deps.cache.pods.objects
    .lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot: "idle" }))
    .take(count)
    .toArray();
  deps.expectations.expectDeletions(
    { namespace, name },
    idle.map((pod) => pod.metadata.uid ?? ""),
  );
  for (const pod of idle) {
    if (!(await deletedAsSeen(deps, pod))) deps.expectations.deletionFailed({ namespace, name }, pod.metadata.uid ?? "");
  }
}

/** False when the pod is no longer what it was: somebody was faster, which is an outcome and no error. */
export async function deletedAsSeen({ client }: Pick<PoolDeps, "client">, pod: Pod): Promise<boolean> {
  const { namespace, name = "", uid, resourceVersion } = pod.metadata;
  try {
    await client.delete(Pods, { namespace, name }, { preconditions: { uid, resourceVersion } });
    return true;
  } catch (error) {
    if (isApiError(error, "Conflict", "NotFound")) return false;
    throw error;
  }
}

/** Lets go of a pod that is being deleted: what was to be kept of it has been. */
export async function letGo({ client }: Pick<PoolDeps, "client">, pod: Pod): Promise<void> {
  const { namespace, name = "", uid = "" } = pod.metadata;
  const at = pod.metadata.finalizers?.indexOf(finalizers.sandboxProtection) ?? -1;
  if (at < 0) return;
  const path = `/metadata/finalizers/${at}`;
  try {
    await client.patch(
      Pods,
      { namespace, name },
      {
        type: "json",
        operations: [
          { op: "test", path: "/metadata/uid", value: uid },
          { op: "test", path, value: finalizers.sandboxProtection },
          { op: "remove", path },
        ],
      },
    );
  } catch (error) {
    // Gone, or changed since: the next look decides anew.
    if (!isApiError(error, "NotFound", "Invalid", "Conflict")) throw error;
  }
}
