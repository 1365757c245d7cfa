import type { PodStatus } from "#model/pod.ts";

/** True when storing `wanted` would change nothing. Fields that it does not name belong to others, except those below. */
export function isSameStatus(wanted: PodStatus, stored: PodStatus): boolean {
  return Object.keys(statusPatch(wanted, stored)).length === 0;
}

/** Fields of ours that go when there is no more reason for them. */
const optional = ["reason", "message", "startTime", "podIP", "podIPs", "initContainerStatuses"] as const;

/** What of the status has to be written: fields that differ, and null for those that go. */
export function statusPatch(wanted: PodStatus, stored: PodStatus): Readonly<Record<string, unknown>> {
  const patch: Record<string, unknown> = {};
  const before: Readonly<Record<string, unknown>> = { ...stored };
  for (const [field, value] of Object.entries(wanted)) {
    if (!isSame(value, before[field])) patch[field] = value;
  }
  for (const field of optional) {
    if (wanted[field] === undefined && stored[field] !== undefined) patch[field] = null;
  }
  return patch;
}

/** Compares as JSON: a missing field and null mean the same, because the server writes null for unknown times. */
function isSame(a: unknown, b: unknown): boolean {
  if ((a ?? null) === null || (b ?? null) === null) return (a ?? null) === (b ?? null);
  if (typeof a !== "object" || typeof b !== "object") return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = a as Readonly<Record<string, unknown>>; // Objects and arrays alike have properties.
  const right = b as Readonly<Record<string, unknown>>;
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].every((key) => isSame(left[key], right[key]));
}
