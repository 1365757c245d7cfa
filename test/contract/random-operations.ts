/** Random operations on a few names, described so that two servers can be told to do exactly the same. */
import fc from "fast-check";
import { isApiError } from "#kube/api-error.ts";
import type { DeleteOptions, ObjectClient, ObjectKey, Patch, SubresourceOptions } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";

type KindName = "map" | "pool" | "pod";

const types: Record<KindName, ResourceType> = { map: ConfigMaps, pool: SandboxPools, pod: Pods };

interface Change {
  readonly labels?: Record<string, string | null>;
  readonly value: number;
  readonly hold: boolean;
}

/** Which of the versions of the object that were seen so far a write is conditional on. */
type On = "nothing" | "newest" | "oldest";

export type Operation =
  | { readonly do: "create"; readonly kind: KindName; readonly name: string; readonly change: Change }
  | {
      readonly do: "update";
      readonly kind: KindName;
      readonly name: string;
      readonly change: Change;
      readonly on: On;
      readonly status: boolean;
    }
  | {
      readonly do: "merge";
      readonly kind: KindName;
      readonly name: string;
      readonly change: Change;
      readonly on: On;
      readonly status: boolean;
    }
  | {
      readonly do: "json";
      readonly kind: KindName;
      readonly name: string;
      readonly test: string;
      readonly to: string;
      readonly remove: boolean;
    }
  | { readonly do: "delete"; readonly kind: KindName; readonly name: string; readonly on: On; readonly grace: number | undefined }
  | { readonly do: "scale"; readonly name: string; readonly by: number }
  | { readonly do: "get"; readonly kind: KindName; readonly name: string }
  | { readonly do: "list"; readonly kind: KindName; readonly selector: string; readonly limit: number | undefined };

const kind = fc.constantFrom<KindName>("map", "pool", "pod");
const name = fc.constantFrom("a", "b", "c", "Bad_Name");
const on = fc.constantFrom<On>("nothing", "newest", "oldest");
const color = fc.constantFrom("red", "blue", "", "not a label");
const change: fc.Arbitrary<Change> = fc.record({
  labels: fc.dictionary(fc.constantFrom("color", "size"), fc.oneof(color, fc.constant(null)), { maxKeys: 2, noNullPrototype: true }),
  value: fc.integer({ min: -2, max: 5 }),
  hold: fc.boolean(),
});

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("create" as const), kind, name, change }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("update" as const), kind, name, change, on, status: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("merge" as const), kind, name, change, on, status: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("json" as const), kind, name, test: color, to: color, remove: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), kind, name, on, grace: fc.constantFrom(undefined, 0, 5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("scale" as const), name, by: fc.constantFrom(1, 3, -1, -9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("get" as const), kind, name }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("list" as const),
      kind,
      selector: fc.constantFrom("", "color=red", "color!=red", "!size", "color in (red,blue)"),
      limit: fc.constantFrom(undefined, 1, 2),
    }),
  },
);

/** Runs operations on one server, remembering the versions it saw, so that "oldest" means the same on both. */
export class Operator {
  readonly #client: ObjectClient;
  readonly #namespace: string;
  readonly #versions = new Map<string, string[]>();

  constructor(client: ObjectClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** What came back: the object, the list, or the refusal in its comparable parts. */
  async run(op: Operation): Promise<unknown> {
    try {
      return await this.#run(op);
    } catch (error) {
      if (!isApiError(error)) throw error;
      const causes = new Set(error.causes.map((cause) => `${cause.field} ${cause.reason}`));
      return { reason: error.reason, code: error.code, causes: [...causes].sort() };
    }
  }

  #run(op: Operation): Promise<unknown> {
    const client = this.#client;
    const key = { namespace: this.#namespace, name: "name" in op ? op.name : "" };
    switch (op.do) {
      case "create":
        return this.#remember(client.create(types[op.kind], anObject(op.kind, this.#namespace, op.name, op.change)));
      case "update":
        return this.#update(op);
      case "merge":
        return this.#remember(client.patch(types[op.kind], key, this.#mergePatch(op), through(op)));
      case "json":
        return this.#remember(client.patch(types[op.kind], key, jsonPatch(op)));
      case "delete":
        return client.delete(types[op.kind], key, this.#deletion(op));
      case "scale":
        return this.#scale(key, op.by);
      case "get":
        return client.get(types[op.kind], key);
      case "list":
        return this.#list(op);
    }
  }

  #deletion(op: Extract<Operation, { do: "delete" }>): DeleteOptions {
    const preconditions = op.on === "nothing" ? undefined : { resourceVersion: this.#version(op.kind, op.name, op.on) };
    return { gracePeriodSeconds: op.grace, preconditions };
  }

  async #update(op: Extract<Operation, { do: "update" }>): Promise<unknown> {
    const current = await this.#client.get(types[op.kind], { namespace: this.#namespace, name: op.name });
    const next = changed(op.kind, current, op.change);
    const resourceVersion = op.on === "nothing" ? undefined : this.#version(op.kind, op.name, op.on);
    const { resourceVersion: _, ...metadata } = next.metadata;
    const object = { ...next, metadata: resourceVersion === undefined ? metadata : { ...metadata, resourceVersion } };
    return this.#remember(this.#client.update(types[op.kind], object, through(op)));
  }

  #mergePatch(op: Extract<Operation, { do: "merge" }>): Patch {
    const metadata = {
      labels: op.change.labels ?? {},
      finalizers: op.change.hold ? ["example.com/hold"] : null,
      ...(op.on === "nothing" ? {} : { resourceVersion: this.#version(op.kind, op.name, op.on) }),
    };
    return {
      type: "merge",
      body: {
        metadata,
        ...content(op.kind, op.change.value),
        ...(op.kind === "pool" ? { status: { idleReplicas: op.change.value } } : {}),
      },
    };
  }

  /** Always to another number: scaling to the same number is a write on a real server, because managedFields records it. */
  async #scale(key: ObjectKey, by: number): Promise<unknown> {
    const { spec } = await this.#client.getScale(SandboxPools, key);
    return this.#client.patchScale(SandboxPools, key, { type: "merge", body: { spec: { replicas: spec.replicas + by } } });
  }

  async #list(op: Extract<Operation, { do: "list" }>): Promise<unknown> {
    const { items, remainingItemCount } = await this.#client.list(types[op.kind], {
      namespace: this.#namespace,
      labelSelector: op.selector,
      limit: op.limit,
    });
    return { items, remainingItemCount };
  }

  async #remember(call: Promise<ApiObject>): Promise<ApiObject> {
    const object = await call;
    const id = `${object.kind}/${object.metadata.name}`;
    const seen = this.#versions.get(id) ?? [];
    if (object.metadata.resourceVersion !== undefined) seen.push(object.metadata.resourceVersion);
    this.#versions.set(id, seen);
    return object;
  }

  #version(kindName: KindName, of: string, which: Exclude<On, "nothing">): string {
    const seen = this.#versions.get(`${types[kindName].kind}/${of}`) ?? [];
    return (which === "newest" ? seen.at(-1) : seen[0]) ?? "1";
  }
}

/** Config maps have no status to write. */
function through(op: { kind: KindName; status: boolean }): SubresourceOptions {
  return op.status && op.kind !== "map" ? { subresource: "status" } : {};
}

function content(kindName: KindName, value: number): { data?: Record<string, string>; spec?: Record<string, number> } {
  if (kindName === "map") return { data: { value: String(value) } };
  if (kindName === "pool") return { spec: { replicas: value } };
  return { spec: { activeDeadlineSeconds: value } };
}

function anObject(kindName: KindName, namespace: string, called: string, { labels, value, hold }: Change): ApiObject {
  const own = Object.fromEntries(Object.entries(labels ?? {}).filter((entry): entry is [string, string] => entry[1] !== null));
  const metadata = { namespace, name: called, labels: own, ...(hold ? { finalizers: ["example.com/hold"] } : {}) };
  if (kindName === "map") return { ...aConfigMap(namespace, called), ...content(kindName, value), metadata };
  if (kindName === "pool") return { ...aPool(namespace, called, { replicas: value }), metadata };
  return { ...aPod(namespace, called, { spec: value > 0 ? { nodeName: "node" } : {} }), metadata };
}

function changed(kindName: KindName, current: ApiObject, { labels, value, hold }: Change): ApiObject {
  const next = anObject(kindName, current.metadata.namespace ?? "", current.metadata.name ?? "", {
    ...(labels && { labels }),
    value,
    hold,
  });
  const base = { ...current, metadata: { ...current.metadata, ...next.metadata, finalizers: hold ? ["example.com/hold"] : [] } };
  if (kindName === "map") return { ...base, ...content(kindName, value) };
  if (kindName === "pod") return base;
  return {
    ...base,
    spec: { ...("spec" in current ? (current.spec as object) : {}), replicas: value },
    status: { idleReplicas: value },
  } as ApiObject;
}

function jsonPatch(op: Extract<Operation, { do: "json" }>): Patch {
  const path = "/metadata/labels/color";
  return {
    type: "json",
    operations: [{ op: "test", path, value: op.test }, op.remove ? { op: "remove", path } : { op: "replace", path, value: op.to }],
  };
}
