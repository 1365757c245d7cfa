import type { ObjectClient, ObjectKey, SubresourceOptions, WatchEvent, WatchOptions } from "#kube/object-client.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

const verbs = ["get", "list", "create", "update", "patch", "delete"] as const;
type Verb = (typeof verbs)[number];

export interface Call {
  readonly verb: Verb;
  /** Plural of the kind, with the subresource: `sandboxpools/status`. */
  readonly of: string;
  readonly name: string | undefined;
}

/** A client that lists its calls. They can be held, refused or lost before and after the server has had them; its watches can be late. */
export class WatchedClient {
  readonly client: ObjectClient;
  readonly calls: Call[] = [];
  before: (call: Call) => void | Promise<void> = () => {};
  after: (call: Call) => void | Promise<void> = () => {};

  /** No change of this kind is seen before it resolves. */
  late: { readonly of: string; readonly until: Promise<void> } | undefined;

  constructor(client: ObjectClient) {
    const watch = async function* <T extends ApiObject>(
      this: WatchedClient,
      type: ResourceType<T>,
      options?: WatchOptions,
    ): AsyncGenerator<WatchEvent<T>, void> {
      for await (const event of client.watch(type, options)) {
        if (this.late?.of === type.plural) await this.late.until;
        yield event;
      }
    }.bind(this);
    this.client = new Proxy(client, {
      get: (target, name) => {
        if (name === "watch") return watch;
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        const verb = verbs.find((one) => one === name);
        // Methods of a class with private fields work only on the object itself.
        if (verb === undefined) return member.bind(target) as unknown;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          const call = callOf(verb, args);
          this.calls.push(call);
          await this.before(call);
          const answer: unknown = await Reflect.apply(member, target, args);
          await this.after(call);
          return answer;
        };
      },
    });
  }

  /** Calls since it was last asked, as `verb kind`. */
  take(): string[] {
    return this.calls.splice(0).map(({ verb, of }) => `${verb} ${of}`);
  }
}

function callOf(verb: Verb, args: readonly unknown[]): Call {
  // As ObjectClient has them.
  const [type, subject, third, fourth] = args as [ResourceType, unknown, unknown, unknown];
  const options = (verb === "patch" ? fourth : third) as SubresourceOptions | undefined;
  const isObject = verb === "create" || verb === "update";
  const name = isObject ? (subject as ApiObject).metadata.name : (subject as ObjectKey | undefined)?.name;
  const place = options?.subresource === undefined ? "" : `/${options.subresource}`;
  return { verb, of: `${type.plural}${place}`, name };
}
