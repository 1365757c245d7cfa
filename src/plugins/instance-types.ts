/** The plugin `instance-types`: refuses pools that name a type or a multiplier that the catalogue does not have. */
import { instanceTypeFault, type InstanceTypes, multiplierFault } from "#model/instance-types.ts";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Plugin, Verdict } from "./plugin.ts";

export function instanceTypesPlugin(catalogue: () => InstanceTypes): Plugin {
  const check = async (pool: SandboxPool): Promise<Verdict<SandboxPool>> => {
    const message = faultOf(catalogue(), pool);
    return message === undefined ? { object: pool } : { refusal: { kind: "InvalidSpec", message } };
  };
  // A type that is taken out of the catalogue must not keep existing pools from growing: their resources are in the pool.
  return { name: "instance-types", preCreatePool: check };
}

/** Undefined: it is good. Pure. */
function faultOf(catalogue: InstanceTypes, pool: SandboxPool): string | undefined {
  const { instanceType: name, multiplier = 1 } = chosenSize(pool);
  if (name === undefined || name === "") return undefined;
  const type = catalogue.types.get(name);
  return type === undefined ? instanceTypeFault(catalogue, name) : multiplierFault(type, multiplier);
}

/** What the Env's member asked for; it stands beside what was rendered from it. */
function chosenSize({ metadata: { annotations } }: SandboxPool): { readonly instanceType?: string; readonly multiplier?: number } {
  try {
    return (JSON.parse(annotations?.[annotationKeys.overrides] ?? "{}") ?? {}) as ReturnType<typeof chosenSize>;
  } catch {
    return {};
  }
}
