/** Verbs that contract tests share. */
import { ApiError, type StatusCause } from "#kube/api-error.ts";
import type { ObjectClient, ObjectKey, WatchEvent, WatchOptions } from "#kube/object-client.ts";
import type { ConfigMap } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";

export interface Refusal {
  readonly reason: string;
  readonly message: string;
  readonly code: number;
  /** Each field once: the API server may have several complaints about one. */
  readonly fields: readonly string[];
  readonly causes: readonly StatusCause[];
}

/** What the server said no to. A call that succeeds, or fails with anything but an ApiError, fails the test. */
export async function refusal(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { reason, message, code, causes } = error;
    return { reason, message, code, causes, fields: [...new Set(causes.map((cause) => cause.field))] };
  }
  throw new Error("the server accepted what it should have refused");
}

export function aConfigMap(namespace: string, name: string, more: Partial<ConfigMap> = {}): ConfigMap {
  const { metadata, ...rest } = more;
  return { metadata: { ...metadata, namespace, name }, data: { greeting: "hello" }, ...rest };
}

export function aPod(namespace: string, name: string, more: { metadata?: Pod["metadata"]; spec?: Partial<Pod["spec"]> } = {}): Pod {
  return {
    metadata: { ...more.metadata, namespace, name },
    spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }], ...more.spec },
  };
}

/** The names of what is listed, in the server's order. */
export function names(objects: readonly ApiObject[]): (string | undefined)[] {
  return objects.map((object) => object.metadata.name);
}

/** A watch that a test reads step by step. */
export class Watching<T extends ApiObject> implements AsyncDisposable {
  readonly #abort = new AbortController();
  readonly #events: AsyncIterator<WatchEvent<T>>;

  constructor(client: ObjectClient, type: ResourceType<T>, options: WatchOptions) {
    this.#events = client.watch(type, { ...options, signal: this.#abort.signal })[Symbol.asyncIterator]();
  }

  /** The next change, leaving bookmarks out. */
  async next(): Promise<{ type: string; object: T }> {
    for (;;) {
      const event = await this.#events.next();
      if (event.done === true) throw new Error("the watch ended");
      if (event.value.type !== "BOOKMARK") return event.value;
    }
  }

  /** The next n changes as `TYPE name`. */
  async take(count: number): Promise<string[]> {
    const seen: string[] = [];
    while (seen.length < count) {
      const event = await this.next();
      seen.push(`${event.type} ${event.object.metadata.name ?? "?"}`);
    }
    return seen;
  }

  /** Everything until the server ends the watch. */
  async rest(): Promise<WatchEvent<T>[]> {
    const seen: WatchEvent<T>[] = [];
    for (let event = await this.#events.next(); event.done !== true; event = await this.#events.next()) seen.push(event.value);
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error("the test is done watching"));
    await this.#events.next().catch(() => {});
  }
}

/** Resolves when the object is gone, by watching for it: the garbage collectors and finalizers of the servers take their time. */
export async function gone(client: ObjectClient, type: ResourceType, key: ObjectKey): Promise<void> {
  await until(client, type, key, (object) => object === undefined);
}

/** Resolves with the object as soon as it satisfies the wish (undefined stands for: it is not there). */
export async function until<T extends ApiObject>(
  client: ObjectClient,
  type: ResourceType<T>,
  key: ObjectKey,
  wish: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const fieldSelector = `metadata.name=${key.name}`;
  const { items, resourceVersion } = await client.list(type, { namespace: key.namespace, fieldSelector });
  if (wish(items[0])) return items[0];
  const abort = new AbortController();
  try {
    const events = client.watch(type, { namespace: key.namespace, fieldSelector, resourceVersion, signal: abort.signal });
    for await (const event of events) {
      if (event.type === "BOOKMARK") continue;
      const object = event.type === "DELETED" ? undefined : event.object;
      if (wish(object)) return object;
    }
    throw new Error(`the watch on ${type.plural} ended before ${key.name} got there`);
  } finally {
    abort.abort(new Error("seen"));
  }
}
