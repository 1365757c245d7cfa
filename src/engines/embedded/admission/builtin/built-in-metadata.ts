import type { ResourceType } from "#model/resource.ts";
import type { MetadataRules } from "../metadata-rules.ts";
import { dnsSubdomainMistakes } from "#model/names.ts";

/** What the metadata of Kubernetes' own kinds may say, unless a kind says otherwise. */
export function builtInMetadata(resource: ResourceType, own: Partial<MetadataRules> = {}): MetadataRules {
  return {
    namespaced: resource.namespaced,
    nameMistakes: dnsSubdomainMistakes,
    qualifiedFinalizers: true,
    ...own,
  };
}
