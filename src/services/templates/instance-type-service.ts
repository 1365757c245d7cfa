/** Seeing the catalogue of instance types. All callers see what there is; what is wrong with the catalogue is an admin's to see. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { InstanceType } from "#model/instance-types.ts";
import type { Caller } from "#services/caller.ts";

export interface InstanceTypeList {
  readonly instanceTypes: readonly InstanceType[];
  /** Entries that cannot be used; for admins. */
  readonly problems?: readonly InstanceTypeProblem[];
}

export interface InstanceTypeProblem {
  readonly name: string;
  readonly message: string;
}

export interface InstanceTypeService {
  list(caller: Caller): InstanceTypeList;
}

function withoutNodes(type: InstanceType): InstanceType {
  const { nodeSelector: _, ...others } = type;
  return others;
}

export function instanceTypeService({ cache }: { readonly cache: Pick<SandboxCache, "instanceTypes"> }): InstanceTypeService {
  return {
    list: ({ role }) => {
      const { types, problems } = cache.instanceTypes();
      const instanceTypes = [...types.values()];
      if (role === "admin") return { instanceTypes, problems: [...problems].map(([name, message]) => ({ name, message })) };
      // How the machines are labelled is no tenant's business.
      return { instanceTypes: instanceTypes.map(withoutNodes) };
    },
  };
}
