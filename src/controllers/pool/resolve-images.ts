/** Resolves the tags of a pool's images to digests. If the registry does not answer, known digests stay in use. */
import { kubernetesTime } from "#lib/clock.ts";
import { digestsOf, type ImagePullers, pulledBy, pullersOf } from "#pools/pool-images.ts";
import { poolConditionReasons } from "#model/keys.ts";
import type { ResolvedPoolImage, SandboxPool } from "#model/sandbox-pool.ts";
import { idleContainerImages, imagesToResolve } from "#sandbox/images/images.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";
import type { Trouble } from "./size/pool-memory.ts";
import { tellPool } from "./status/tell-pool.ts";

export interface ResolvedImages {
  /** Image to digest, of those that are known. */
  readonly digests: Readonly<Record<string, string>>;
  /** The first image of which nothing is known. */
  readonly trouble: Trouble | undefined;
  /** Whether pods can be made in spite of it: it is an image that only sandboxes run. */
  readonly isEnoughForPods: boolean;
}

interface Answer {
  readonly image: string;
  readonly digest?: string;
  readonly why?: string;
}

/** Remembers the answers, for the pool's status. Throws only when it is told to stop. */
export async function resolveImages(
  tools: PoolTools,
  pool: SandboxPool,
  template: PoolTemplate,
  signal: AbortSignal,
): Promise<ResolvedImages> {
  const known = new Map(knownImages(tools, pool).map((one) => [one.image, one]));
  const pullers = pullersOf(pool, template);
  const answers = await Promise.all(
    imagesToResolve(template).map((image) => ask(tools, pool, { image, digest: known.get(image)?.digest, pullers }, signal)),
  );
  const now = kubernetesTime(tools.clock.now());
  tools.memories.of(keyOf(pool)).resolvedImages = answers.flatMap(({ image, digest }) => {
    const before = known.get(image);
    if (digest === undefined) return [];
    return [before?.digest === digest ? before : { image, digest, resolvedAt: now }];
  });
  const forPods = new Set([...Object.values(idleContainerImages(template)), ...initImages(template)]);
  const unknown = answers.filter(({ digest }) => digest === undefined);
  const worst = unknown.find(({ image }) => forPods.has(image)) ?? unknown[0];
  return {
    digests: Object.fromEntries(answers.flatMap(({ image, digest }) => (digest === undefined ? [] : [[image, digest]]))),
    trouble: worst === undefined ? undefined : unavailable(worst),
    isEnoughForPods: !unknown.some(({ image }) => forPods.has(image)),
  };
}

/** In memory if this process has asked, else from the status: a new process starts from what the last one wrote. */
export function knownImages({ memories }: Pick<PoolTools, "memories">, pool: SandboxPool): readonly ResolvedPoolImage[] {
  return memories.of(keyOf(pool)).resolvedImages ?? pool.status?.resolvedImages ?? [];
}

interface Asked {
  readonly image: string;
  /** What it meant before. */
  readonly digest: string | undefined;
  readonly pullers: ImagePullers;
}

async function ask(tools: PoolTools, pool: SandboxPool, { image, digest: known, pullers }: Asked, signal: AbortSignal): Promise<Answer> {
  try {
    const { [image]: digest = "" } = await digestsOf(pulledBy(tools, pullers), [image], signal);
    return { image, digest };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    if (known === undefined) return { image, why };
    tools.log.warn({ image, digest: known, error }, "image could not be looked up; its last known digest is used");
    const message = `the digest of image ${image} could not be resolved: ${why}; pods still use ${known}`;
    tellPool(tools, pool, { type: "Warning", reason: "ImageNotChecked", message });
    return { image, digest: known };
  }
}

function unavailable({ image, why = "" }: Answer): Trouble {
  return { reason: poolConditionReasons.imageUnavailable, message: `the digest of image ${image} could not be resolved: ${why}` };
}

function initImages({ template }: PoolTemplate): readonly string[] {
  return template?.spec?.initContainers?.flatMap(({ image }) => image ?? []) ?? [];
}
