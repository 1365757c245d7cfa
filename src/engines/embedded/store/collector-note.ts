import type { ObjectMeta } from "#model/meta.ts";

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";

/** What the garbage collector must know of an owner reference. */
export interface OwnerLink {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** The owner, if it is deleted in the foreground, waits for this dependent. */
  readonly blocks: boolean;
}

/**
 * What the garbage collector must know of an object. It is kept beside each revision, so that after a start it is known of
 * all objects without parsing them.
 */
export interface CollectorNote {
  readonly owners: readonly OwnerLink[];
  /** The object is deleted and cannot go before the collector has done its part. */
  readonly waits: boolean;
}

type Written = { readonly owners: readonly (readonly [string, string, string, string, 0 | 1])[]; readonly waits: 0 | 1 };

/** The note in the form in which it is kept; undefined for an object that is none of the collector's business. */
export function writeNote(metadata: ObjectMeta): string | undefined {
  const { ownerReferences = [], finalizers, deletionTimestamp } = metadata;
  const waits =
    deletionTimestamp !== undefined && finalizers?.some((one) => one === orphanFinalizer || one === foregroundFinalizer) === true;
  if (ownerReferences.length === 0 && !waits) return undefined;
  const owners = ownerReferences.map(({ apiVersion, kind, name, uid, blockOwnerDeletion: blocks }) => {
    return [apiVersion, kind, name, uid, blocks === true ? 1 : 0] as const;
  });
  return JSON.stringify({ owners, waits: waits ? 1 : 0 } satisfies Written);
}

export function readNote(text: string): CollectorNote {
  const { owners, waits } = JSON.parse(text) as Written; // Only writeNote makes them.
  return {
    owners: owners.map(([apiVersion, kind, name, uid, blocks]) => ({ apiVersion, kind, name, uid, blocks: blocks === 1 })),
    waits: waits === 1,
  };
}
