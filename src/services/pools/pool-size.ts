import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { podDisk, podResources } from "#sandbox/pods/pod-resources.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";

/** What each sandbox of a pool may use, as Kubernetes quantities; what nothing is said about is left out. */
export interface PoolSize {
  readonly cpu?: string;
  readonly memory?: string;
  readonly disk?: string;
}

export function poolSize({ templates }: Pick<SandboxCache, "templates">, pool: SandboxPool): PoolSize {
  const { templateName: name } = pool.spec;
  const resolved = resolveTemplate(pool, name === undefined ? undefined : templates.objects.get({ name }));
  const spec = resolved.kind === "template" ? resolved.template.template?.spec : undefined;
  if (spec?.containers === undefined) return {};
  const pod = { metadata: {}, spec: { ...spec, containers: spec.containers } };
  const disk = podDisk(pod);
  return { ...podResources(pod), ...(disk === undefined ? {} : { disk }) };
}
