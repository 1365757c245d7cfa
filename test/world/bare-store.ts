/** What the store's own tests share: a store on a clock that stands still, and verbs for what they do with it. */
import { ApiError, type StatusCause } from "#kube/api-error.ts";
import type { WatchEvent } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import type { ApiObject, ObjectMeta } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";
import { type ObjectStore, type ObjectStoreOptions, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { bareKinds, type Pool, Pools } from "./bare-kinds.ts";

export interface TestStore extends ObjectStore {
  readonly clock: SteppedClock;
}

export function openTestStore(options: Partial<Omit<ObjectStoreOptions, "clock">> & { readonly clock?: SteppedClock } = {}): TestStore {
  const clock = options.clock ?? new SteppedClock();
  const store = openObjectStore({ file: ":memory:", kinds: bareKinds, ...options, clock });
  return Object.assign(store, { clock });
}

export function aMap(name: string, more: { readonly metadata?: ObjectMeta; readonly data?: ConfigMap["data"] } = {}): ConfigMap {
  return { metadata: { namespace: "default", name, ...more.metadata }, data: more.data ?? { greeting: "hello" } };
}

export function aPool(name: string, more: { readonly metadata?: ObjectMeta; readonly spec?: Pool["spec"] } = {}): Pool {
  return { metadata: { namespace: "default", name, ...more.metadata }, spec: more.spec ?? { replicas: 1 } };
}

export function aPod(name: string, more: { readonly metadata?: ObjectMeta; readonly spec?: Partial<Pod["spec"]> } = {}): Pod {
  return { metadata: { namespace: "default", name, ...more.metadata }, spec: { containers: [{ name: "main" }], ...more.spec } };
}

/** The reference that makes the object an owner. */
export function ownedBy(owner: ApiObject, more: { readonly blockOwnerDeletion?: boolean } = {}): ObjectMeta {
  const { apiVersion = "", kind = "", metadata } = owner;
  return { ownerReferences: [{ apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "", ...more }] };
}

export interface Refusal {
  readonly reason: string;
  readonly message: string;
  readonly code: number;
  readonly causes: readonly StatusCause[];
}

/** What the store said no to; a call that succeeds fails the test. */
export async function refusal(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { reason, message, code, causes } = error;
    return { reason, message, code, causes };
  }
  throw new Error("the store accepted what it should have refused");
}

/** All objects of the store. */
export async function everything(store: TestStore): Promise<readonly ApiObject[]> {
  const lists = await Promise.all([Namespaces, ConfigMaps, Pools, Pods].map((type) => store.list(type)));
  return lists.flatMap((list) => list.items);
}

/** Lets background work run until it has nothing left to do. */
export async function backgroundDone(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await settle();
}

/** A watch that a test reads step by step. */
export class Watching<T extends ApiObject> implements Disposable {
  readonly #abort = new AbortController();
  readonly #events: AsyncIterator<WatchEvent<T>>;
  #ended = false;

  constructor(open: (signal: AbortSignal) => AsyncIterable<WatchEvent<T>>) {
    this.#events = open(this.#abort.signal)[Symbol.asyncIterator]();
  }

  next(): Promise<IteratorResult<WatchEvent<T>, unknown>> {
    return this.#events.next();
  }

  /** The next events as `TYPE name@version`, bookmarks as `BOOKMARK @version`. */
  async take(count: number): Promise<string[]> {
    const seen: string[] = [];
    while (seen.length < count) {
      const { value, done } = await this.#events.next();
      if (done === true) throw new Error(`the watch ended after ${seen.join(", ")}`);
      seen.push(eventText(value));
    }
    return seen;
  }

  /** Everything until the store ends the watch. */
  async rest(): Promise<string[]> {
    const seen: string[] = [];
    for (let event = await this.#events.next(); event.done !== true; event = await this.#events.next()) seen.push(eventText(event.value));
    this.#ended = true;
    return seen;
  }

  [Symbol.dispose](): void {
    if (!this.#ended) this.#abort.abort(new Error("the test is done watching"));
  }
}

function eventText(event: WatchEvent<ApiObject>): string {
  if (event.type === "BOOKMARK") return `BOOKMARK @${event.resourceVersion}`;
  return `${event.type} ${event.object.metadata.name}@${event.object.metadata.resourceVersion}`;
}
