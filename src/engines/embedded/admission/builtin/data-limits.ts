/** What secrets and config maps have in common. */
import type { Causes } from "../causes.ts";
import { jsonEqual } from "../json.ts";

export const maxDataBytes = 1024 * 1024;

interface Freezable {
  readonly immutable?: boolean;
  readonly data?: unknown;
  readonly binaryData?: unknown;
}

/** Once declared immutable, data stays as it is, and immutable. */
export function validateFrozenData(next: Freezable, current: Freezable, fields: readonly ("data" | "binaryData")[], causes: Causes): void {
  if (current.immutable !== true) return;
  const frozen = "field is immutable when `immutable` is set";
  if (next.immutable !== true) causes.forbidden("immutable", frozen);
  for (const field of fields) if (!jsonEqual(next[field], current[field])) causes.forbidden(field, frozen);
}
