import type { ObjectKey } from "#kube/object-client.ts";

/** What a controller works on: an object by its name. The event that woke it, and the object as it was then, are withheld. */
export type Key = ObjectKey;

/** `namespace/name`, or `name` for cluster-scoped objects. Names hold no slash, so each key has one form and each form one key. */
export function formatKey(key: Key): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

export function parseKey(text: string): Key {
  const slash = text.indexOf("/");
  return slash === -1 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}
