/**
 * The plugin `reservation`: what a pool's annotation says of its place with the scheduler (SandboxReservationSpec) goes onto its pods.
 *
 * - `priorityClassName` becomes the pods' priority class.
 * - `replicaQuota` is kept for each pod: the pod's requests are raised to it, which every scheduler honours, and it stands on the pod as
 *   an annotation for schedulers that keep room before pods exist.
 */
import { quantityNumber } from "#model/quantity.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Container, Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxReservationSpec } from "#model/sandbox-pod.ts";
import type { Plugin } from "./plugin.ts";

export function reservationPlugin(): Plugin {
  return {
    name: "reservation",
    preCreatePool: checked,
    preUpdatePool: checked,
    preCreatePod: async (pod, pool) => {
      const read = readReservation(pool);
      if ("fault" in read) return invalid(read.fault);
      return read.reservation === undefined ? { object: pod } : reserved(pod, read.reservation);
    },
  };
}

async function checked(pool: SandboxPool) {
  const read = readReservation(pool);
  return "fault" in read ? invalid(read.fault) : { object: pool };
}

function invalid(message: string) {
  return { refusal: { kind: "InvalidSpec", message } } as const;
}

type ReadReservation = { readonly reservation: SandboxReservationSpec | undefined } | { readonly fault: string };

const place = `metadata.annotations[${JSON.stringify(annotationKeys.reservation)}]`;

/** Pure. */
export function readReservation({ metadata: { annotations } }: SandboxPool): ReadReservation {
  const text = annotations?.[annotationKeys.reservation];
  if (text === undefined) return { reservation: undefined };
  const value = parsed(text);
  if (value === undefined) {
    return { fault: `${place} must be a JSON object such as {"priorityClassName":"high","replicaQuota":{"cpu":"1"}}` };
  }
  const fault = faultOf(value);
  if (fault !== undefined) return { fault: `${place}${fault}` };
  // Checked field by field.
  return { reservation: { replicaQuota: {}, ...value } };
}

function faultOf({ priorityClassName, replicaQuota = {}, ...others }: Readonly<Record<string, unknown>>): string | undefined {
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) return ` has no field ${unknown}: the fields are priorityClassName and replicaQuota`;
  const isName = typeof priorityClassName === "string" && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(priorityClassName);
  if (priorityClassName !== undefined && !isName) return ": priorityClassName must be the name of a PriorityClass";
  const amounts = typeof replicaQuota === "object" && replicaQuota !== null && !Array.isArray(replicaQuota) ? replicaQuota : { "": "" };
  const bad = Object.entries(amounts).find(([, amount]) => !isAmount(amount))?.[0];
  if (bad === undefined) return undefined;
  return `: replicaQuota${bad === "" ? "" : `.${bad}`} must be quantities such as {"cpu":"500m","memory":"1Gi"}`;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function isAmount(amount: unknown): boolean {
  return (typeof amount === "string" || typeof amount === "number") && (quantityNumber(amount) ?? -1) >= 0;
}

/** Pure. */
export function reserved(pod: Pod, { priorityClassName, replicaQuota }: SandboxReservationSpec) {
  const [first, ...others] = pod.spec.containers;
  if (first === undefined) return { object: pod };
  const raised: Record<string, string | number> = {};
  for (const [resource, quota] of Object.entries(replicaQuota)) {
    const request = wantedRequest([first, ...others], resource, quota);
    if (request === "too much") return invalid(`${place}: replicaQuota.${resource} (${quota}) is above what the pod's containers may use`);
    if (request !== undefined) raised[resource] = request;
  }
  const requests = { ...first.resources?.requests, ...raised };
  const container: Container = Object.keys(raised).length === 0 ? first : { ...first, resources: { ...first.resources, requests } };
  const quota = Object.keys(replicaQuota).length === 0 ? {} : { [annotationKeys.replicaQuota]: JSON.stringify(replicaQuota) };
  return {
    object: {
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, ...quota } },
      spec: { ...pod.spec, ...(priorityClassName !== undefined && { priorityClassName }), containers: [container, ...others] },
    },
  };
}

/** What the first container has to request so that all of them request the quota; undefined: they do already. */
function wantedRequest(
  [first, ...others]: readonly [Container, ...Container[]],
  resource: string,
  quota: string | number,
): string | number | undefined {
  const elsewhere = others.reduce((sum, container) => sum + requestOf(container, resource), 0);
  const missing = (quantityNumber(quota) ?? 0) - elsewhere;
  if (missing <= requestOf(first, resource)) return undefined;
  if (missing > (quantityNumber(first.resources?.limits?.[resource]) ?? Infinity)) return "too much";
  return elsewhere > 0 ? written(resource, missing) : quota;
}

/** Kubernetes takes a container's limit for its request where it has none of its own. */
function requestOf({ resources }: Container, resource: string): number {
  return quantityNumber(resources?.requests?.[resource] ?? resources?.limits?.[resource]) ?? 0;
}

function written(resource: string, amount: number): string {
  return resource === "cpu" ? `${Math.ceil(amount * 1000)}m` : String(Math.ceil(amount));
}
