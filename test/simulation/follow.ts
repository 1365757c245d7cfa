/** The world's own watch of the store: every change of a kind in the turn in which it is written, and those of two kinds in their order. */
import type { ObjectClient, WatchEvent } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

export type ChangeEvent<T extends ApiObject> = Exclude<WatchEvent<T>, { readonly type: "BOOKMARK" }>;

export interface Follower {
  readonly store: Pick<ObjectClient, "watch">;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Number of events requested ahead. An event without a request would wait until the last one was seen, and events of other kinds would overtake it. */
const ahead = 100;

export function follow<T extends ApiObject>(
  { store, signal, onError }: Follower,
  type: ResourceType<T>,
  see: (event: ChangeEvent<T>) => void,
): void {
  const events = store.watch(type, { signal })[Symbol.asyncIterator]();
  const next = (): void => void events.next().then(told).catch(failed);
  const told = ({ done, value }: IteratorResult<WatchEvent<T>, unknown>): void => {
    if (done === true) return;
    next();
    if (value.type !== "BOOKMARK") see(value);
  };
  const failed = (error: unknown): void => {
    if (!signal.aborted) onError(error);
  };
  for (let asked = 0; asked < ahead; asked++) next();
}
