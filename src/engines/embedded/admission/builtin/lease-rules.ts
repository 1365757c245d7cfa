import { type Lease, Leases } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Causes } from "../causes.ts";
import { shared, withProperties } from "../json.ts";
import type { KindRules } from "../kind-rules.ts";
import { metadataFields, validateMetadata, validateMetadataUpdate } from "../metadata-rules.ts";
import { builtInMetadata } from "./built-in-metadata.ts";
import { kindShape } from "./kubernetes-shape.ts";
import { readBuiltIn } from "./read-shape.ts";

const metadata = builtInMetadata(Leases);

const leaseShape = kindShape(Leases);

function asLease(object: ApiObject): Lease {
  return object;
}

export const leaseRules: KindRules = {
  resource: Leases,

  normalize: (object) => readBuiltIn(Leases, leaseShape, object),

  prepareForCreate: (object) => object,

  prepareForUpdate(next, current) {
    return withProperties(next, { spec: shared(asLease(next).spec, asLease(current).spec) });
  },

  validateCreate(object) {
    const causes = new Causes();
    validateMetadata(metadata, object.metadata, causes);
    validateLease(asLease(object), causes);
    return causes.all;
  },

  validateUpdate(next, current) {
    const causes = new Causes();
    validateMetadataUpdate(metadata, next.metadata, current.metadata, causes);
    validateLease(asLease(next), causes);
    return causes.all;
  },

  selectableFields: (object) => metadataFields(Leases, object.metadata),
};

function validateLease({ spec = {} }: Lease, causes: Causes): void {
  const { leaseDurationSeconds, leaseTransitions } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    causes.invalid("spec.leaseDurationSeconds", leaseDurationSeconds, "must be greater than 0");
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    causes.invalid("spec.leaseTransitions", leaseTransitions, "must be greater than or equal to 0");
  }
}
