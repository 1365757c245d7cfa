/** Prints one of our kinds as the CustomResourceDefinition that teaches it to a Kubernetes API server. */
import { stringify } from "yaml";
import type { ApiObject } from "./meta.ts";
import { resourceName, type ResourceType } from "./resource.ts";
import type { CustomKind, PrinterColumn, StructuralSchema } from "./structural-schema.ts";

export interface CustomResourceDefinition extends ApiObject {
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly scope: "Cluster" | "Namespaced";
    readonly versions: readonly CrdVersion[];
  };
}

interface CrdVersion {
  readonly name: string;
  readonly served: true;
  readonly storage: true;
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
  readonly additionalPrinterColumns: readonly PrinterColumn[];
  readonly subresources: {
    readonly status?: Readonly<Record<string, never>>;
    readonly scale?: ResourceType["scale"];
  };
}

export function customResourceDefinition(kind: CustomKind): CustomResourceDefinition {
  const { resource } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: resourceName(resource) },
    spec: {
      group: resource.group,
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.singular,
        shortNames: resource.shortNames,
        ...(kind.categories === undefined ? {} : { categories: kind.categories }),
      },
      scope: resource.namespaced ? "Namespaced" : "Cluster",
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: kind.schema },
          additionalPrinterColumns: kind.printerColumns,
          subresources: {
            ...(resource.statusSubresource ? { status: {} } : {}),
            ...(resource.scale === undefined ? {} : { scale: resource.scale }),
          },
        },
      ],
    },
  };
}

/** The text of a file in deploy/crds. Keys are sorted, so that a change of a schema shows as a change of those lines only. */
export function crdYaml(kind: CustomKind): string {
  const body = stringify(customResourceDefinition(kind), { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false });
  return `# Generated from src/model by tools/generate-crds.ts. Do not edit.\n${body}`;
}

/** `sandboxpools.agents.navix.sh.yaml`: where crdYaml goes in deploy/crds. */
export function crdFileName(kind: CustomKind): string {
  return `${resourceName(kind.resource)}.yaml`;
}
