/** What a pool's pods are made from, worked out once for each version of the pool and its template. */
import type { PodSpec } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { noAmounts, type PodAmounts, usableAmounts } from "./pod-amounts.ts";

export type SpecOfPool = (pool: SandboxPool) => PodSpec | undefined;

function poolSpecs(templateOf: (name: string) => SandboxTemplate | undefined): SpecOfPool {
  const known = new WeakMap<SandboxPool, { readonly template: SandboxTemplate | undefined; readonly spec: PodSpec | undefined }>();
  return (pool) => {
    const { templateName } = pool.spec;
    const template = templateName === undefined ? undefined : templateOf(templateName);
    const before = known.get(pool);
    // Objects of the cache are never changed, only replaced.
    if (before !== undefined && before.template === template) return before.spec;
    const resolved = resolveTemplate(pool, template);
    const spec = resolved.kind === "template" ? resolved.template.template?.spec : undefined;
    known.set(pool, { template, spec });
    return spec;
  };
}

function poolAmounts(specOf: SpecOfPool): (pool: SandboxPool) => PodAmounts {
  const known = new WeakMap<PodSpec, PodAmounts>();
  return (pool) => {
    const spec = specOf(pool);
    if (spec === undefined) return noAmounts;
    const amounts = known.get(spec) ?? usableAmounts(spec);
    known.set(spec, amounts);
    return amounts;
  };
}

/** Where templates are looked up: the cache of the process. */
export interface Templates {
  readonly templates: { readonly objects: { get(key: { readonly name: string }): SandboxTemplate | undefined } };
}

const known = new WeakMap<Templates, { readonly specOf: SpecOfPool; readonly amountsOf: (pool: SandboxPool) => PodAmounts }>();

/** The same for everything that reads one cache. */
export function poolsIn(cache: Templates): { readonly specOf: SpecOfPool; readonly amountsOf: (pool: SandboxPool) => PodAmounts } {
  const there = known.get(cache);
  if (there !== undefined) return there;
  const specOf = poolSpecs((name) => cache.templates.objects.get({ name }));
  const made = { specOf, amountsOf: poolAmounts(specOf) };
  known.set(cache, made);
  return made;
}
