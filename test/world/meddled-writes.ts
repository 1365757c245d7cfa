import type { ObjectClient } from "#kube/object-client.ts";

export type Send = () => Promise<unknown>;

export interface Meddling {
  /** Called for each patch with the way to send it: does so, or not, or says something else than the server did. */
  patch: (send: Send) => Promise<unknown>;
  get: (send: Send) => Promise<unknown>;
}

/** The client, with somebody in the way of its patches and gets. All else goes through. */
export function meddled(client: ObjectClient): { readonly client: ObjectClient; readonly meddling: Meddling } {
  const meddling: Meddling = { patch: (send) => send(), get: (send) => send() };
  const proxy = new Proxy(client, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      // Methods of a class with private fields work only on the object itself.
      const method = member.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
      if (name !== "patch" && name !== "get") return method;
      return (...args: readonly unknown[]) => meddling[name](() => method(...args));
    },
  });
  return { client: proxy, meddling };
}
