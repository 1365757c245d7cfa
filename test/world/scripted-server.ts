/**
 * An API server in memory for tests that need it to misbehave: it lists and watches correctly by itself, and on request
 * fails, ends, starves, delays, repeats and forgets. It validates nothing; for behaviour of servers there is the embedded store.
 */
import { ApiError } from "#kube/api-error.ts";
import type {
  CallOptions,
  DeleteOptions,
  ListOptions,
  ObjectClient,
  ObjectKey,
  ObjectList,
  Scale,
  SubresourceOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { matchesLabels, parseLabelSelector } from "#model/label-selector.ts";
import type { ApiObject } from "#model/meta.ts";
import { type ResourceType, resourceName } from "#model/resource.ts";
import { EventPipe } from "./event-pipe.ts";

export type ScriptedVerb = "get" | "list" | "watch";

export interface ScriptedCall {
  readonly verb: ScriptedVerb;
  readonly resource: string;
  readonly resourceVersion?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
  readonly limit?: number | undefined;
}

interface Happened {
  readonly version: number;
  readonly resource: string;
  readonly before: ApiObject | undefined;
  readonly now: ApiObject | undefined;
}

interface OpenWatch {
  readonly resource: string;
  readonly isSeen: (object: ApiObject | undefined) => boolean;
  readonly pipe: EventPipe<WatchEvent<ApiObject>>;
}

export class ScriptedServer implements ObjectClient {
  readonly calls: ScriptedCall[] = [];
  readonly #objects = new Map<string, Map<string, ApiObject>>();
  readonly #history: Happened[] = [];
  readonly #watches = new Set<OpenWatch>();
  readonly #failures: { readonly verb: ScriptedVerb; readonly error: Error }[] = [];
  readonly #snapshots = new Map<string, readonly ApiObject[]>();
  #version = 100;
  #oldest = 0;
  #held: (() => void)[] | undefined;

  get version(): string {
    return String(this.#version);
  }

  /** How many watches are open. */
  get watching(): number {
    return this.#watches.size;
  }

  // What the world does.

  /** Another client writes the object: it is created, or replaced whatever its version was. */
  put<T extends ApiObject>(type: ResourceType<T>, object: T): T {
    const held = this.#kind(type).get(textKey(object.metadata));
    this.#version += 1;
    const uid = held?.metadata.uid ?? object.metadata.uid ?? `uid-${this.#version}`;
    const kept = deepFreeze({ ...object, kind: type.kind, metadata: { ...object.metadata, uid, resourceVersion: this.version } });
    this.#kind(type).set(textKey(kept.metadata), kept);
    this.#happened({ version: this.#version, resource: resourceName(type), before: held, now: kept });
    return kept;
  }

  remove(type: ResourceType, key: ObjectKey): void {
    const held = this.#kind(type).get(textKey(key));
    if (held === undefined) throw notFound(type, key);
    this.#version += 1;
    this.#kind(type).delete(textKey(key));
    this.#happened({ version: this.#version, resource: resourceName(type), before: held, now: undefined });
  }

  all<T extends ApiObject>(type: ResourceType<T>): T[] {
    return [...this.#kind(type).values()];
  }

  // How it misbehaves.

  failNext(verb: ScriptedVerb, error: Error, times = 1): void {
    for (let time = 0; time < times; time++) this.#failures.push({ verb, error });
  }

  endWatches(): void {
    this.#each((watch) => watch.pipe.end());
    this.#watches.clear();
  }

  breakWatches(error: Error): void {
    this.#each((watch) => watch.pipe.fail(error));
    this.#watches.clear();
  }

  /** The open watches bring nothing any more, and do not end either. New ones work. */
  starveWatches(): void {
    this.#watches.clear();
  }

  /** From now on events are kept back, until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const deliver of held) deliver();
  }

  /** Forgets its history: a watch from an older version, and an unfinished list, is Expired. */
  compact(): void {
    this.#oldest = this.#version;
    this.#snapshots.clear();
  }

  /** Begins another history, in which everything is as it was but versions start low again. */
  restart(version: number): void {
    this.endWatches();
    this.#history.length = 0;
    this.#version = version;
    this.#oldest = version;
  }

  bookmark(): void {
    const resourceVersion = this.version;
    this.#each((watch) => watch.pipe.push({ type: "BOOKMARK", resourceVersion }));
  }

  /** Sends the last `count` events of the history once more. */
  repeat(count: number): void {
    for (const happened of this.#history.slice(-count)) this.#each((watch) => send(watch, happened));
  }

  // The port.

  async get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, options: CallOptions = {}): Promise<T> {
    await this.#answer({ verb: "get", resource: resourceName(type) }, options.signal);
    const object = this.#kind(type).get(textKey(key));
    if (object === undefined) throw notFound(type, key);
    return object;
  }

  async list<T extends ApiObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    await this.#answer({ verb: "list", resource: resourceName(type), limit: options.limit }, options.signal);
    const [version = this.version, from = "0"] = options.continue?.split(":") ?? [];
    if (options.continue !== undefined && !this.#snapshots.has(version)) throw expired(version);
    // The snapshot of a version was made by a list of the same kind: the test continues the list that it began.
    const all = (this.#snapshots.get(version) ?? this.all(type).filter(scope(options))) as readonly T[];
    const end = Number(from) + (options.limit ?? Infinity);
    const items = all.slice(Number(from), end);
    if (end >= all.length) return { items, resourceVersion: version };
    this.#snapshots.set(version, all);
    return { items, resourceVersion: version, continue: `${version}:${end}` };
  }

  async *watch<T extends ApiObject>(type: ResourceType<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    const { resourceVersion = "0", signal, timeoutSeconds } = options;
    await this.#answer({ verb: "watch", resource: resourceName(type), resourceVersion, timeoutSeconds }, signal);
    if (Number(resourceVersion) < this.#oldest) throw expired(resourceVersion);
    const watch: OpenWatch = { resource: resourceName(type), isSeen: scope(options), pipe: new EventPipe() };
    for (const happened of this.#history) if (happened.version > Number(resourceVersion)) this.#deliver(() => send(watch, happened));
    this.#watches.add(watch);
    try {
      // Only events of the asked kind are sent into this pipe.
      yield* watch.pipe.read(signal) as AsyncIterable<WatchEvent<T>>;
    } finally {
      this.#watches.delete(watch);
    }
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, _options?: WriteOptions): Promise<T> {
    if (this.#kind(type).has(textKey(object.metadata))) throw new ApiError("AlreadyExists", `${textKey(object.metadata)} already exists`);
    return this.put(type, object);
  }

  async update<T extends ApiObject>(type: ResourceType<T>, object: T, _options?: SubresourceOptions): Promise<T> {
    const held = this.#kind(type).get(textKey(object.metadata));
    if (held === undefined) throw notFound(type, { name: object.metadata.name ?? "" });
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== held.metadata.resourceVersion)
      throw new ApiError("Conflict", "the object has changed");
    return this.put(type, object);
  }

  async delete(type: ResourceType, key: ObjectKey, _options?: DeleteOptions): Promise<void> {
    this.remove(type, key);
  }

  patch<T extends ApiObject>(): Promise<T> {
    throw notScripted("patch");
  }

  getScale(): Promise<Scale> {
    throw notScripted("getScale");
  }

  updateScale(): Promise<Scale> {
    throw notScripted("updateScale");
  }

  patchScale(): Promise<Scale> {
    throw notScripted("patchScale");
  }

  async #answer(call: ScriptedCall, signal: AbortSignal | undefined): Promise<void> {
    this.calls.push(call);
    await Promise.resolve();
    signal?.throwIfAborted();
    const failure = this.#failures.findIndex(({ verb }) => verb === call.verb);
    const [planned] = failure === -1 ? [] : this.#failures.splice(failure, 1);
    if (planned !== undefined) throw planned.error;
  }

  #kind<T extends ApiObject>(type: ResourceType<T>): Map<string, T> {
    const name = resourceName(type);
    const objects = this.#objects.get(name) ?? new Map<string, ApiObject>();
    this.#objects.set(name, objects);
    // One map per kind, into which only objects of that kind are put.
    return objects as Map<string, T>;
  }

  #happened(happened: Happened): void {
    this.#history.push(happened);
    this.#each((watch) => send(watch, happened));
  }

  #each(act: (watch: OpenWatch) => void): void {
    for (const watch of this.#watches) this.#deliver(() => act(watch));
  }

  #deliver(act: () => void): void {
    if (this.#held === undefined) act();
    else this.#held.push(act);
  }
}

/** As a server sees it from a selector's side: what comes into view was added, what leaves it was deleted, as it last was in view. */
function send(watch: OpenWatch, { version, resource, before, now }: Happened): void {
  if (watch.resource !== resource) return;
  const [was, is] = [watch.isSeen(before), watch.isSeen(now)];
  if (is && now !== undefined) watch.pipe.push({ type: was ? "MODIFIED" : "ADDED", object: now });
  else if (was && before !== undefined) {
    const gone = { ...before, metadata: { ...before.metadata, resourceVersion: String(version) } };
    watch.pipe.push({ type: "DELETED", object: deepFreeze(gone) });
  }
}

function scope({ namespace, labelSelector, fieldSelector }: ListOptions | WatchOptions): (object: ApiObject | undefined) => boolean {
  const requirements = parseLabelSelector(labelSelector ?? "");
  // Of fields it knows the name.
  const name = /^metadata\.name=(.*)$/.exec(fieldSelector ?? "")?.[1];
  return (object) =>
    object !== undefined &&
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    matchesLabels(requirements, object.metadata.labels);
}

function textKey({ namespace, name }: { readonly namespace?: string | undefined; readonly name?: string | undefined }): string {
  return `${namespace ?? ""}/${name ?? ""}`;
}

function notFound(type: ResourceType, key: ObjectKey): ApiError {
  return new ApiError("NotFound", `${resourceName(type)} "${key.name}" not found`);
}

function expired(version: string): ApiError {
  return new ApiError("Expired", `too old resource version: ${version}`);
}

function notScripted(verb: string): Error {
  return new Error(`the scripted server has no ${verb}; change objects with put and remove`);
}
