import { type ResourceType, resourceName } from "#model/resource.ts";

/** How a kind differs from others in what the store itself does. Kubernetes has these built into each kind's code. */
export interface KindTraits {
  /** Defined by a CustomResourceDefinition: it is stored under its group, and some refusals are worded differently. */
  readonly custom: boolean;
  /** An update may leave resourceVersion out and so overwrite whatever is there. */
  readonly unconditionalUpdate: boolean;
  /** An update of an object that is not there creates it. */
  readonly createOnUpdate: boolean;
  /** Whether the server counts changes of the content in metadata.generation. */
  readonly countsGenerations: boolean;
  /** Deletion may give the object time to end. */
  readonly graceful: boolean;
  /** The garbage collector looks at its owner references. */
  readonly collected: boolean;
  /** Removed by the server when it was not written for this long. */
  readonly expiresAfterMs?: number;
}

const custom: KindTraits = {
  custom: true,
  unconditionalUpdate: false,
  createOnUpdate: false,
  countsGenerations: true,
  graceful: false,
  collected: true,
};

const builtIn: KindTraits = { ...custom, custom: false, unconditionalUpdate: true, countsGenerations: false };

const traits: Readonly<Record<string, KindTraits>> = {
  pods: { ...builtIn, countsGenerations: true, graceful: true },
  namespaces: builtIn,
  secrets: builtIn,
  configmaps: builtIn,
  events: { ...builtIn, createOnUpdate: true, collected: false, expiresAfterMs: 60 * 60 * 1000 },
  "leases.coordination.k8s.io": { ...builtIn, unconditionalUpdate: false, createOnUpdate: true },
};

export function traitsOf(type: ResourceType): KindTraits {
  return traits[resourceName(type)] ?? custom;
}
