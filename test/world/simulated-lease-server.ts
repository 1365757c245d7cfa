import { ApiError } from "#kube/api-error.ts";
import type { CallOptions, ObjectClient } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { Lease } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { SteppedClock } from "./stepped-clock.ts";

/** What becomes of one call: how long each way takes, and whether it gets through. */
export interface Passage {
  readonly requestMs: number;
  readonly answerMs: number;
  readonly lost?: "request" | "answer" | undefined;
}

/** A server that keeps one Lease, at the far end of a network that the test rules. */
export class SimulatedLeaseServer {
  readonly #world: SteppedClock;
  #lease: Lease | undefined;
  #version = 0;

  constructor(world: SteppedClock) {
    this.#world = world;
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** Deletes or edits the lease, as a person with kubectl would. */
  set(change: (lease: Lease) => Lease | undefined): void {
    if (this.#lease === undefined) return;
    const changed = change(this.#lease);
    this.#lease = changed === undefined ? undefined : this.#stored(changed);
  }

  /** The server as one process reaches it; `passage` is asked for each call. */
  clientFor(process: SimulatedProcess, passage: () => Passage): ObjectClient {
    const call = <T extends ApiObject>(_type: ResourceType<T>, apply: () => Lease, options?: CallOptions): Promise<T> =>
      // The only kind here is Lease, so T is.
      this.#send(process, passage(), apply, options?.signal) as Promise<ApiObject> as Promise<T>;
    return {
      get: (type, _key, options) => call(type, () => this.#get(), options),
      create: (type, object, options) => call(type, () => this.#create(object), options),
      update: (type, object, options) => call(type, () => this.#update(object), options),
      list: unused,
      watch: unused,
      patch: unused,
      delete: unused,
      getScale: unused,
      updateScale: unused,
      patchScale: unused,
    };
  }

  /** An aborted call is only given up by its caller: what was sent still arrives. */
  #send(process: SimulatedProcess, passage: Passage, apply: () => Lease, signal?: AbortSignal): Promise<Lease> {
    return new Promise<Lease>((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      if (passage.lost === "request") return;
      this.#world.after(passage.requestMs, () => {
        const answer = outcomeOf(apply);
        if (passage.lost === "answer") return;
        this.#world.after(passage.answerMs, () => process.deliver(() => void answer.then(resolve, reject)));
      });
    });
  }

  #get(): Lease {
    if (this.#lease === undefined) throw new ApiError("NotFound", "no such lease");
    return this.#lease;
  }

  #create(object: ApiObject): Lease {
    if (this.#lease !== undefined) throw new ApiError("AlreadyExists", "there is one");
    return (this.#lease = this.#stored({ ...object, metadata: { ...object.metadata, uid: `uid-${this.#version}` } }));
  }

  #update(object: ApiObject): Lease {
    if (this.#get().metadata.uid !== object.metadata.uid) throw new ApiError("Conflict", "another lease of that name");
    if (this.#lease?.metadata.resourceVersion !== object.metadata.resourceVersion) throw new ApiError("Conflict", "it has changed");
    return (this.#lease = this.#stored(object));
  }

  #stored(object: ApiObject): Lease {
    return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } });
  }
}

function unused(): never {
  throw new Error("leader election gets, creates and updates, nothing else");
}

function outcomeOf(apply: () => Lease): Promise<Lease> {
  const outcome = Promise.try(apply);
  outcome.catch(() => {}); // The answer may never be asked for.
  return outcome;
}
