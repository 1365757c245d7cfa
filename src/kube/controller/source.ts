import type { Rank } from "#lib/lanes.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Key } from "./key.ts";

/** Something that wakes a controller: it names keys, and says when it has named all that were there. */
export interface Source {
  /** `first` is for keys that a request waits for. */
  connect(add: (key: Key, rank?: Rank) => void): SourceConnection;
}

export interface SourceConnection {
  whenSynced(signal?: AbortSignal): Promise<void>;
  remove(): void;
}

/** What is asked of an informer: `now` is undefined when the object is gone, `before` when it is new. */
export interface ChangeSource<T extends ApiObject> {
  onChange(handler: (now: T | undefined, before: T | undefined) => void): SourceConnection;
}

export interface ChangesOptions<T extends ApiObject> {
  /** The objects to reconcile when this one changes: itself when left out. */
  readonly keys?: (object: T) => readonly Key[];
  /** Which changes matter: all when left out. */
  readonly when?: (now: T | undefined, before: T | undefined) => boolean;
  /** Whether a request waits for it now: all keys are as usual when left out. */
  readonly rank?: (key: Key) => Rank;
}

/**
 * Wakes for changes of an informer's objects. Both sides of a change are asked for keys: a pod that moves from one pool to
 * another concerns both. Keys may be named twice; the queue takes them once.
 */
export function changesOf<T extends ApiObject>(informer: ChangeSource<T>, options: ChangesOptions<T> = {}): Source {
  const { keys = ownKey, when = () => true, rank } = options;
  return {
    connect: (add) =>
      informer.onChange((now, before) => {
        if (!when(now, before)) return;
        for (const object of [now, before]) {
          if (object !== undefined) for (const key of keys(object)) add(key, rank?.(key));
        }
      }),
  };
}

function ownKey({ metadata }: ApiObject): readonly Key[] {
  return metadata.name === undefined ? [] : [{ namespace: metadata.namespace, name: metadata.name }];
}
