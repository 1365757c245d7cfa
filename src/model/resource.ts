import type { ApiObject } from "./meta.ts";

/** What a client must know of a kind to speak of its objects. The type parameter ties the kind to the shape of its objects. */
export interface ResourceType<T extends ApiObject = ApiObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** True when `status` is written through a subresource of its own and ignored in ordinary writes. */
  readonly statusSubresource: boolean;
  /** Set when the kind has a scale subresource: where its numbers live. */
  readonly scale?: ScalePaths;
  /** Never set; only carries T. */
  readonly objectType?: T;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export function apiVersionOf(type: ResourceType): string {
  return type.group === "" ? type.version : `${type.group}/${type.version}`;
}

/** `pods`, `sandboxpools.agents.navix.sh`: how messages of Kubernetes name a resource. */
export function resourceName(type: ResourceType): string {
  return type.group === "" ? type.plural : `${type.plural}.${type.group}`;
}
