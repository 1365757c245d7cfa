import type { ObjectClient } from "#kube/object-client.ts";
import { Leases } from "#model/core-kinds.ts";

export type Send = () => Promise<unknown>;

export interface Meddling {
  /** Called for each patch with the way to send it: does so, or not, or says something else than the server did. */
  patch: (send: Send) => Promise<unknown>;
  /** For each Lease that is made or updated. */
  lease: (send: Send) => Promise<unknown>;
  get: (send: Send) => Promise<unknown>;
}

/** Where claims stand, and which write of a meddled client brings them there. */
export const waysToClaim = [
  { where: "pods", claimsOnLeases: false, write: "patch" },
  { where: "Leases", claimsOnLeases: true, write: "lease" },
] as const;

/** The client, with `meddling` called in place of its patches, its writes of Leases and its gets. All else goes through. */
export function meddled(client: ObjectClient): { readonly client: ObjectClient; readonly meddling: Meddling } {
  const meddling: Meddling = { patch: (send) => send(), lease: (send) => send(), get: (send) => send() };
  const proxy = new Proxy(client, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      // Methods of a class with private fields work only on the object itself.
      const method = member.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
      if (name === "patch" || name === "get") return (...args: readonly unknown[]) => meddling[name](() => method(...args));
      if (name !== "create" && name !== "update") return method;
      return (...args: readonly unknown[]) => (args[0] === Leases ? meddling.lease(() => method(...args)) : method(...args));
    },
  });
  return { client: proxy, meddling };
}
