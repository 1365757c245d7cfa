import type { ListOptions, ObjectClient, WatchEvent, WatchOptions } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

/** What a test does to the calls that a client makes to a real server. */
export interface Tampering {
  /** The options with which the n-th watch (from 1) is asked for instead. May throw, as a server does. */
  readonly watch?: ((options: WatchOptions, count: number) => WatchOptions) | undefined;
}

/** The client, with its lists and watches counted and tampered with. All else goes through. */
export class TamperedClient {
  readonly client: ObjectClient;
  lists = 0;
  watches = 0;

  constructor(client: ObjectClient, tampering: Tampering = {}) {
    const list = <T extends ApiObject>(type: ResourceType<T>, options?: ListOptions): ReturnType<typeof client.list<T>> => {
      this.lists += 1;
      return client.list(type, options);
    };
    const watch = async function* <T extends ApiObject>(
      this: TamperedClient,
      type: ResourceType<T>,
      options: WatchOptions = {},
    ): AsyncGenerator<WatchEvent<T>, void> {
      this.watches += 1;
      yield* client.watch(type, tampering.watch?.(options, this.watches) ?? options);
    }.bind(this);
    this.client = new Proxy(client, {
      get: (target, name) => {
        if (name === "list") return list;
        if (name === "watch") return watch;
        const member: unknown = Reflect.get(target, name, target);
        // Methods of a class with private fields work only on the object itself.
        return typeof member === "function" ? (member.bind(target) as unknown) : member;
      },
    });
  }
}
