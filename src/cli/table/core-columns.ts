/** Columns of Kubernetes' own kinds, as its API server prints them. */
import { age } from "../print/human-duration.ts";
import type { ConfigMap, Lease, Namespace, ObjectEvent, Secret } from "#model/core-kinds.ts";
import type { Column } from "./columns.ts";
import { podColumns } from "./pod-columns.ts";

/** By resource; undefined for other kinds. */
export function coreColumns(resource: string): readonly Column[] | undefined {
  return columns[resource];
}

const name: Column = { name: "Name", cell: (object) => object.metadata.name };
const created: Column = { name: "Age", cell: (object, now) => age(object.metadata.creationTimestamp, now) };

const namespaceColumns: readonly Column<Namespace>[] = [name, { name: "Status", cell: (namespace) => namespace.status?.phase }, created];

const secretColumns: readonly Column<Secret>[] = [
  name,
  { name: "Type", cell: (secret) => secret.type },
  { name: "Data", cell: (secret) => size(secret.data) },
  created,
];

const configMapColumns: readonly Column<ConfigMap>[] = [
  name,
  { name: "Data", cell: (map) => size(map.data) + size(map.binaryData) },
  created,
];

const leaseColumns: readonly Column<Lease>[] = [name, { name: "Holder", cell: (lease) => lease.spec?.holderIdentity }, created];

const eventColumns: readonly Column<ObjectEvent>[] = [
  { name: "Last Seen", cell: (event, now) => age(lastSeen(event), now) },
  { name: "Type", cell: (event) => event.type },
  { name: "Reason", cell: (event) => event.reason },
  { name: "Object", cell: eventTarget },
  { name: "Subobject", wide: true, cell: (event) => event.involvedObject.fieldPath },
  { name: "Source", wide: true, cell: eventSource },
  { name: "Message", cell: (event) => event.message?.trim() },
  { name: "First Seen", wide: true, cell: (event, now) => age(firstSeen(event), now) },
  // A single event of the newer API has no count.
  { name: "Count", wide: true, cell: (event) => event.count || 1 },
  { ...name, wide: true },
];

const columns: Readonly<Record<string, readonly Column[]>> = {
  pods: podColumns,
  namespaces: namespaceColumns,
  secrets: secretColumns,
  configmaps: configMapColumns,
  "leases.coordination.k8s.io": leaseColumns,
  events: eventColumns,
};

function size(record: Readonly<Record<string, string>> | undefined): number {
  return Object.keys(record ?? {}).length;
}

function firstSeen(event: ObjectEvent): string | null | undefined {
  return event.firstTimestamp ?? event.eventTime;
}

function lastSeen(event: ObjectEvent): string | null | undefined {
  return event.lastTimestamp ?? firstSeen(event);
}

function eventTarget({ involvedObject: { kind = "", name: target } }: ObjectEvent): string {
  return target === undefined ? kind.toLowerCase() : `${kind.toLowerCase()}/${target}`;
}

function eventSource(event: ObjectEvent): string {
  const parts = [event.source?.component || event.reportingComponent, event.source?.host || event.reportingInstance];
  return parts.filter((part) => part !== undefined && part !== "").join(", ");
}
