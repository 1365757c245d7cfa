/**
 * What of a body's metadata is stored (pure). Keys of AgentBox are the server's: a tenant can neither choose the owner of an object nor
 * write what controllers note on it.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { isReservedKey, labelKeys } from "#model/keys.ts";
import type { ApiObject, ObjectMeta } from "#model/meta.ts";
import { apiVersionOf, type ResourceType } from "#model/resource.ts";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";

type Texts = Readonly<Record<string, string>>;

/** `present` is the object that is replaced; undefined for a new one. */
export function storedMetadata(caller: Caller, sent: ObjectMeta, present: ApiObject | undefined): ObjectMeta {
  const base = present?.metadata ?? {};
  const { name, namespace, resourceVersion } = sent;
  return {
    ...base,
    ...withoutUndefined({
      name: base.name ?? name,
      namespace: base.namespace ?? namespace,
      resourceVersion: resourceVersion ?? base.resourceVersion,
    }),
    labels: storedKeys(caller, "metadata.labels", sent.labels, present === undefined ? ownerLabels(caller) : base.labels),
    annotations: storedKeys(caller, "metadata.annotations", sent.annotations, base.annotations),
  };
}

export function checkKind({ apiVersion, kind }: ApiObject, type: ResourceType): void {
  const known = { apiVersion: apiVersionOf(type), kind: type.kind };
  if (apiVersion !== undefined && apiVersion !== known.apiVersion) throw wrong("apiVersion", `must be ${known.apiVersion}, or left out`);
  if (kind !== undefined && kind !== known.kind) throw wrong("kind", `must be ${known.kind}, or left out`);
}

/** Undefined: the object has no owner and every caller may use it. Only an admin makes such an object. */
function ownerLabels({ role, team, user }: Caller): Texts | undefined {
  if (role === "admin") return undefined;
  return { [labelKeys.team]: team, ...(user === undefined ? {} : { [labelKeys.user]: user }) };
}

/** A tenant's reserved keys stay as they are stored; sending them back unchanged is allowed. */
function storedKeys(caller: Caller, field: string, sent: Texts = {}, stored: Texts = {}): Texts {
  if (caller.role === "admin") return sent;
  const changed = Object.entries(sent).find(([key, value]) => isReservedKey(key) && stored[key] !== value);
  if (changed !== undefined) throw wrong(`${field}.${changed[0]}`, "is reserved for AgentBox");
  const kept = Object.entries(stored).filter(([key]) => isReservedKey(key));
  return { ...sent, ...Object.fromEntries(kept) };
}

export function wrong(field: string, rule: string): ServiceError {
  return new ServiceError("invalid_request", `${field} ${rule}`, { field });
}
