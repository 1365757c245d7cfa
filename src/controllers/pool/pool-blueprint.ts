/** What the pods of a pool are to be like now: its template with its own fields in front, and the hash that tells pods of it from others. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { templateOf } from "#pools/pool-images.ts";
import { poolConditionReasons } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import { podBlueprint } from "#sandbox/pods/pod-blueprint.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";
import { templateHash } from "#sandbox/pools/template-hash.ts";
import type { Trouble } from "./size/pool-memory.ts";

export interface PoolBlueprint {
  readonly kind: "blueprint";
  readonly template: PoolTemplate;
  readonly hash: string;
  /** What of the template is not kept, and why. */
  readonly warnings: readonly string[];
}

export type BlueprintOrTrouble = PoolBlueprint | { readonly kind: "trouble"; readonly trouble: Trouble };

interface Made {
  readonly named: SandboxTemplate | undefined;
  readonly result: BlueprintOrTrouble;
}

/** Pools are looked at with every change of a pod, and change far less often themselves. Objects are never changed, only replaced. */
const made = new WeakMap<SandboxPool, Made>();

interface BlueprintDeps extends DaemonSettings {
  readonly cache: Pick<SandboxCache, "templates">;
}

export function blueprintOf(deps: BlueprintDeps, pool: SandboxPool): BlueprintOrTrouble {
  const named = namedTemplate(deps, pool);
  const before = made.get(pool);
  if (before !== undefined && before.named === named) return before.result;
  const result = makeBlueprint(deps, pool);
  made.set(pool, { named, result });
  return result;
}

export function namedTemplate({ cache }: Pick<BlueprintDeps, "cache">, { spec }: SandboxPool): SandboxTemplate | undefined {
  return spec.templateName === undefined ? undefined : cache.templates.objects.get({ name: spec.templateName });
}

function makeBlueprint(deps: BlueprintDeps, pool: SandboxPool): BlueprintOrTrouble {
  const resolved = templateOf(deps, pool);
  if (resolved.kind === "missing-template") {
    const message = `the pool names the template ${resolved.name}, which does not exist; create it, or change spec.templateName`;
    return { kind: "trouble", trouble: { reason: poolConditionReasons.templateMissing, message } };
  }
  const { template } = resolved;
  const rendered = podBlueprint(template, deps);
  if (rendered.kind === "refused") {
    return { kind: "trouble", trouble: { reason: poolConditionReasons.templateInvalid, message: rendered.message } };
  }
  return { kind: "blueprint", template, hash: templateHash(rendered.blueprint), warnings: rendered.blueprint.warnings };
}
