/**
 * Keeps a decision from being made on a copy that is older than our own last write to the object: a pod that we have just
 * claimed must not look idle to us because the watch is late. By uid, so that a new object under an old name is not held
 * to its predecessor's version.
 */
import { compareVersions } from "#kube/informer/versions.ts";
import type { Clock } from "#lib/clock.ts";
import type { ApiObject } from "#model/meta.ts";

/** A watch that is this late will not come; a write that then loses its race costs less than standing still. */
export const versionTtlMs = 5 * 60_000;

interface Written {
  readonly version: string;
  readonly at: number;
}

export class ResourceVersionExpectations {
  readonly #clock: Clock;
  readonly #written = new Map<string, Written>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call with what a write of ours returned. */
  expect(object: ApiObject): void {
    const { uid, resourceVersion } = identityOf(object);
    const known = this.#written.get(uid);
    // Answers to two writes may arrive in either order.
    if (known !== undefined && compareVersions(known.version, resourceVersion) >= 0) return;
    this.#written.set(uid, { version: resourceVersion, at: this.#clock.now() });
  }

  /** Whether this cached copy may be acted upon: it shows our last write, or something newer. */
  satisfied(cached: ApiObject): boolean {
    const { uid, resourceVersion } = identityOf(cached);
    const written = this.#written.get(uid);
    if (written === undefined) return true;
    // Kept even when this copy is new enough: another reader may still hold an older one.
    if (this.#clock.now() - written.at <= versionTtlMs) return compareVersions(resourceVersion, written.version) >= 0;
    this.#written.delete(uid);
    return true;
  }

  /** Call when the object is gone. */
  forget(uid: string): void {
    this.#written.delete(uid);
  }
}

function identityOf({ kind, metadata }: ApiObject): { uid: string; resourceVersion: string } {
  const { uid, resourceVersion, name } = metadata;
  if (uid === undefined || resourceVersion === undefined) {
    throw new Error(`${kind ?? "object"} ${name ?? "without a name"} has no uid or resourceVersion: it does not come from the server`);
  }
  return { uid, resourceVersion };
}
