/**
 * Images that the admin of a pool did not choose: a tenant names them in a create, or as the idle image of a pool of its own. The pool's
 * pull secrets open more than the pool is for, so they serve the repositories of the pool's own images and those that the annotation
 * agentbox.navix.sh/image-repositories on the pod template adds, and images of checkpoints. All others must be public.
 */
import { type ImageReference, parseReference, repositoryName } from "#images/reference.ts";
import { checkpointIn } from "#model/checkpoint-image.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { imagesToResolve } from "#sandbox/images/images.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";

/**
 * access: the registry is asked with the pool's credentials, also for a digest, which is a name and no right.
 * public: it is asked without credentials.
 */
export type ForeignChoice = "access" | "public";

/** Undefined: the pool's own image. */
export function foreignChoice(pool: SandboxPool, template: PoolTemplate, image: string): ForeignChoice | undefined {
  const own = ownImages(pool, template);
  if (own.includes(image)) return undefined;
  // Another check (cluster-images.ts) knows the team of such an image, and no registry outside the installation has it.
  if (checkpointIn(image) !== undefined) return "access";
  const wanted = parsed(image);
  if (wanted === undefined) return "public";
  const name = repositoryName(wanted);
  const allowed = [...own.flatMap((one) => exactly(one) ?? []), ...annotated(template)];
  return allowed.some((isAllowed) => isAllowed(name)) ? "access" : "public";
}

/** What an admin chose: all but the idle image that a tenant gave to its pool. */
function ownImages(pool: SandboxPool, template: PoolTemplate): readonly string[] {
  const idle = pool.spec.idleImage ?? "";
  const isTenants = (pool.metadata.labels?.[labelKeys.team] ?? "") !== "";
  // With PoolDefaultImage there is no idle image.
  return imagesToResolve(idle === "" || !isTenants ? template : { ...template, podCreationImagePolicy: "PoolDefaultImage" });
}

type Allowed = (repository: string) => boolean;

function exactly(image: string): Allowed | undefined {
  const reference = parsed(image);
  if (reference === undefined) return undefined;
  const name = repositoryName(reference);
  return (repository) => repository === name;
}

/** Repositories between commas; `registry.example/team/*` is all below, `*` is every repository. What cannot be read allows nothing. */
function annotated({ template }: PoolTemplate): readonly Allowed[] {
  const text = template?.metadata?.annotations?.[annotationKeys.imageRepositories] ?? "";
  return text.split(",").flatMap((part): readonly Allowed[] => {
    const entry = part.trim();
    if (entry === "*") return [() => true];
    if (entry.endsWith("/*")) return [(repository) => repository.startsWith(entry.slice(0, -1))];
    const one = exactly(entry);
    return one === undefined ? [] : [one];
  });
}

function parsed(image: string): ImageReference | undefined {
  try {
    return parseReference(image);
  } catch {
    return undefined;
  }
}
