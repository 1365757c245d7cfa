/** Makes pods of a pool, several at once. Every call that fails takes back what it let us expect (W8). */
import { isApiError } from "#kube/api-error.ts";
import { Limiter } from "#lib/limiter.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { NamedRefusal } from "#plugins/plugin.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";

export interface NewPods {
  readonly count: number;
  readonly template: PoolTemplate;
  /** Image to digest. */
  readonly digests: Readonly<Record<string, string>>;
}

/** Resolves with why pods could not be made, if some could not. */
export async function createPods(
  tools: PoolTools,
  pool: SandboxPool,
  { count, ...parts }: NewPods,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const key = keyOf(pool);
  const pods = Array.from({ length: count }, () => rendered(tools, pool, parts));
  // Said before the first call: what is created while we wait for an answer may be seen before the answer.
  tools.expectations.expectCreations(
    key,
    pods.map(({ metadata }) => metadata.name ?? ""),
  );
  const limiter = new Limiter(tools.creationsAtOnce);
  const failures: unknown[] = [];
  const create = async (pod: Pod): Promise<void> => {
    try {
      // A server that refuses one refuses the others too: there is no use in asking it five hundred times.
      if (failures.length >= tools.creationsAtOnce) tools.expectations.creationFailed(key, pod.metadata.name ?? "");
      else {
        await tools.clock.turns?.next();
        tools.cache.pods.remember(await createdOnce(tools, await admitted(tools, pool, pod, signal), signal));
      }
    } catch (error) {
      tools.expectations.creationFailed(key, pod.metadata.name ?? "");
      failures.push(error);
    }
  };
  await Promise.all(pods.map((pod) => limiter.run(() => create(pod))));
  signal.throwIfAborted();
  return failures;
}

/** What a plugin does not let happen. */
export class PodRefusedError extends Error {
  override readonly name = "PodRefusedError";
  readonly refusal: NamedRefusal;

  constructor(refusal: NamedRefusal) {
    super(`plugin ${refusal.plugin} refuses it (${refusal.kind}): ${refusal.message}`);
    this.refusal = refusal;
  }
}

/** The pod as plugins want it. Throws PodRefusedError. */
async function admitted({ plugins }: PoolTools, pool: SandboxPool, pod: Pod, signal: AbortSignal): Promise<Pod> {
  if (plugins === undefined) return pod;
  const verdict = await plugins.preCreatePod(pod, pool, signal);
  if ("refusal" in verdict) throw new PodRefusedError(verdict.refusal);
  return verdict.object;
}

/** An answer that never came leaves open whether the pod is there. Its name is ours, so asking for the same again finds out. */
async function createdOnce({ client }: PoolTools, pod: Pod, signal: AbortSignal): Promise<Pod> {
  try {
    return await client.create(Pods, pod, { signal });
  } catch (error) {
    if (!isApiError(error, "Unreachable", "Timeout", "ServerTimeout")) throw error;
  }
  try {
    return await client.create(Pods, pod, { signal });
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
    const { namespace, name = "" } = pod.metadata;
    return client.get(Pods, { namespace, name }, { signal });
  }
}

function rendered(tools: PoolTools, pool: SandboxPool, parts: Omit<NewPods, "count">): Pod {
  const { publicKey, delivery, random } = tools;
  const name = `${pool.metadata.name ?? ""}-${suffix(random)}`;
  const userNamespaces = tools.abilities.userNamespaces().able;
  const imageForm = tools.memories.of(keyOf(pool)).imageForm ?? pool.status?.imageForm;
  const result = renderPod({ pool, ...parts, name, publicKey, delivery, userNamespaces, imageForm });
  if (result.kind === "pod") return result.pod;
  throw new Error(result.kind === "unresolved" ? `no digest is known of ${result.missing.join(", ")}` : result.message);
}

/** Without letters that could spell a word, and without digits that look like letters. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

function suffix(random: () => number): string {
  return Array.from({ length: 8 }, () => alphabet[Math.floor(random() * alphabet.length)]).join("");
}
