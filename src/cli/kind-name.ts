import type { ResourceType } from "#model/resource.ts";

/** `configmap`, `sandboxpool.agents.navix.sh`: how messages name the kind of one object. */
export function kindName(type: ResourceType): string {
  return type.group === "" ? type.kind.toLowerCase() : `${type.kind.toLowerCase()}.${type.group}`;
}
