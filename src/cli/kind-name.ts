import type { ResourceType } from "#model/resource.ts";

/** `configmap`, `sandboxpool.agents.navix.sh`: the kind of one object in messages. */
export function kindName(type: ResourceType): string {
  return type.group === "" ? type.kind.toLowerCase() : `${type.kind.toLowerCase()}.${type.group}`;
}
