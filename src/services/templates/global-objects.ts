/**
 * Templates and API keys that a hub keeps in step (label sync-source=global): here they are read, not written. A change would hold until the next sync, and differ from
 * the other clusters until then. The hub writes through the API server, past these services.
 */
import { isGlobal, labelKeys, syncSourceGlobal } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { ServiceError } from "#services/service-error.ts";

/** Throws conflict. `what` names the object: "template \"base\"". */
export function checkLocal(object: ApiObject, what: string): void {
  if (!isGlobal(object)) return;
  const label = `${labelKeys.syncSource}=${syncSourceGlobal}`;
  throw new ServiceError("conflict", `${what} comes from the hub of this fleet (label ${label}): change it there`);
}

/** Throws invalid_request where a body says that it came from a hub. */
export function checkNotGlobal(body: ApiObject): void {
  if (!isGlobal(body)) return;
  const field = `metadata.labels.${labelKeys.syncSource}`;
  throw new ServiceError("invalid_request", `${field} can be set only by a hub: remove it`, { field });
}
