/** All kinds that AgentBox knows, and how people name them. */
import { checkpointKind } from "./checkpoint.ts";
import { coreKinds } from "./core-kinds.ts";
import { apiVersionOf, type ResourceType } from "./resource.ts";
import { sandboxEnvKind } from "./sandbox-env.ts";
import { sandboxPoolKind } from "./sandbox-pool.ts";
import { sandboxTemplateKind } from "./sandbox-template.ts";
import { sandboxVolumeKind } from "./sandbox-volume.ts";
import type { CustomKind } from "./structural-schema.ts";

/** Our own, in the order in which objects of them are best created. */
export const customKinds: readonly CustomKind[] = [sandboxTemplateKind, sandboxPoolKind, sandboxEnvKind, checkpointKind, sandboxVolumeKind];

export const allResourceTypes: readonly ResourceType[] = [...customKinds.map((kind) => kind.resource), ...coreKinds];

/**
 * Finds a kind by what a user types after `get`: plural, singular, kind or short name, in any case, and, as in kubectl,
 * with a group or a version and group behind a dot (`sbp`, `sandboxpools.agents.navix.sh`, `leases.v1.coordination.k8s.io`).
 */
export function findResourceType(typed: string): ResourceType | undefined {
  const [name = "", ...rest] = typed.toLowerCase().split(".");
  const suffix = rest.join(".");
  return allResourceTypes.find((type) => namesOf(type).includes(name) && suffixesOf(type).includes(suffix));
}

/** Finds a kind by what an object says of itself. */
export function resourceTypeOf(apiVersion: string, kind: string): ResourceType | undefined {
  return allResourceTypes.find((type) => apiVersionOf(type) === apiVersion && type.kind === kind);
}

function namesOf(type: ResourceType): readonly string[] {
  return [type.plural, type.singular, type.kind.toLowerCase(), ...type.shortNames];
}

function suffixesOf(type: ResourceType): readonly string[] {
  return ["", type.group, `${type.version}.${type.group}`];
}
