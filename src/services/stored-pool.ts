/**
 * What of a body becomes a pool (pure). Keys of AgentBox are the server's: who owns a pool, and what controllers note on it, is not
 * taken from a tenant. Nor is a pod template, which could ask for the machine that its pods run on, nor a runtime, whose probe could
 * ask nodes to knock anywhere. A tenant's pool is made from a template that an admin offers.
 */
import { isDeepStrictEqual } from "node:util";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { isReservedKey, labelKeys } from "#model/keys.ts";
import type { ObjectMeta } from "#model/meta.ts";
import { apiVersionOf } from "#model/resource.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import type { Caller } from "./caller.ts";
import { ServiceError } from "./service-error.ts";

type Texts = Readonly<Record<string, string>>;

/** `present` is the pool that is replaced; undefined for a new one. */
export function storedPool(caller: Caller, body: SandboxPool, present: SandboxPool | undefined): SandboxPool {
  checkKind(body);
  if (caller.role === "tenant") checkTenantSpec(body, present);
  const base = present?.metadata ?? {};
  const { name, namespace, resourceVersion } = body.metadata;
  const metadata: ObjectMeta = {
    ...base,
    ...withoutUndefined({
      name: base.name ?? name,
      namespace: base.namespace ?? namespace,
      resourceVersion: resourceVersion ?? base.resourceVersion,
    }),
    labels: keysOf(caller, "labels", body.metadata.labels, present === undefined ? ownerLabels(caller) : base.labels),
    annotations: keysOf(caller, "annotations", body.metadata.annotations, base.annotations),
  };
  return { metadata, spec: body.spec };
}

function checkKind({ apiVersion, kind }: SandboxPool): void {
  const known = { apiVersion: apiVersionOf(SandboxPools), kind: SandboxPools.kind };
  if (apiVersion !== undefined && apiVersion !== known.apiVersion) throw wrong("apiVersion", `must be ${known.apiVersion}, or left out`);
  if (kind !== undefined && kind !== known.kind) throw wrong("kind", `must be ${known.kind}, or left out`);
}

/** What an admin wrote into a tenant's pool may be sent back as it is. */
function checkTenantSpec({ spec }: SandboxPool, present: SandboxPool | undefined): void {
  for (const field of ["template", "runtimes"] as const) {
    if (spec[field] === undefined || isDeepStrictEqual(spec[field], present?.spec[field])) continue;
    throw wrong(`spec.${field}`, "is an admin's to write: name a template with spec.templateName");
  }
  if (spec.templateName !== undefined || spec.template !== undefined) return;
  throw wrong("spec.templateName", "is needed: the template that the pool's pods are made from");
}

/** Undefined means everybody's: only an admin makes such a pool. */
function ownerLabels({ role, team, user }: Caller): Texts | undefined {
  if (role === "admin") return undefined;
  return { [labelKeys.team]: team, ...(user === undefined ? {} : { [labelKeys.user]: user }) };
}

/** A tenant's reserved keys are those that are stored; he may send them back as he got them. */
function keysOf(caller: Caller, field: "labels" | "annotations", sent: Texts = {}, stored: Texts = {}): Texts {
  if (caller.role === "admin") return sent;
  const changed = Object.entries(sent).find(([key, value]) => isReservedKey(key) && stored[key] !== value);
  if (changed !== undefined) throw wrong(`metadata.${field}.${changed[0]}`, "is reserved for AgentBox");
  const kept = Object.entries(stored).filter(([key]) => isReservedKey(key));
  return { ...sent, ...Object.fromEntries(kept) };
}

function wrong(field: string, rule: string): ServiceError {
  return new ServiceError("invalid_request", `${field} ${rule}`, { field });
}
