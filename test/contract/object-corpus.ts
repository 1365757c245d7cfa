/** What the corpora of good and bad objects are made with: `good-objects.ts`, and `bad-objects.ts` with one file per kind. */
import { Checkpoints } from "#model/checkpoint.ts";
import type { ApiObject, Json, JsonObject, ObjectMeta } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { SandboxVolumes } from "#model/sandbox-volume.ts";

/** Any JSON under metadata: the corpora hold what the types of the kinds would not let through. */
export type AnyObject = ApiObject & { readonly spec?: Json; readonly status?: Json };

export interface BadObject {
  /** A phrase that says what is wrong. */
  readonly title: string;
  readonly type: ResourceType;
  /** Without namespace: the test gives namespaced objects one. */
  readonly object: AnyObject;
  /**
   * How it is written. "create" as it is; "status": first created without its status, which is then written through
   * the subresource; "update": first created as `before`, then replaced.
   */
  readonly through: "create" | "status" | "update";
  readonly before?: AnyObject;
  /** One of Status.details.causes must have this field and this reason. */
  readonly field: string;
  readonly reason: string;
}

export interface GoodObject {
  readonly title: string;
  readonly type: ResourceType;
  readonly object: AnyObject;
}

export const containers: JsonObject = { spec: { containers: [{ name: "sandbox", image: "host" }] } };

/** The smallest spec of each kind, for objects that are about something else. */
export const smallest = {
  template: { template: containers },
  pool: { replicas: 1, templateName: "shell" },
  env: { templateRef: { name: "shell" } },
  checkpoint: { sandboxID: "0198c5a0-7f3e" },
  volume: { name: "data", sizeMiB: 16 },
} as const;

type KindName = keyof typeof smallest;

export const types: Record<KindName, ResourceType> = {
  template: SandboxTemplates,
  pool: SandboxPools,
  env: SandboxEnvs,
  checkpoint: Checkpoints,
  volume: SandboxVolumes,
};

/** Where the server finds fault. */
export type Fault = readonly [field: string, reason: string];

/** One builder per kind; `title` becomes the object's name, so that objects of a corpus do not meet. */
export function badObjectsOf(kind: KindName) {
  const type = types[kind];
  return {
    spec: (title: string, spec: Json, [field, reason]: Fault): BadObject => {
      return { title, type, object: { metadata: meta(title), spec }, through: "create", field, reason };
    },
    withoutSpec: (title: string, [field, reason]: Fault): BadObject => {
      return { title, type, object: { metadata: meta(title) }, through: "create", field, reason };
    },
    metadata: (title: string, metadata: ObjectMeta, [field, reason]: Fault): BadObject => {
      return { title, type, object: { metadata: { ...meta(title), ...metadata }, spec: smallest[kind] }, through: "create", field, reason };
    },
    status: (title: string, status: Json, [field, reason]: Fault): BadObject => {
      const object = { metadata: meta(title), spec: smallest[kind], status };
      return { title, type, object, through: "status", field, reason };
    },
    update: (title: string, specs: { readonly from: Json; readonly to: Json }, [field, reason]: Fault): BadObject => {
      const metadata = meta(title);
      return {
        title,
        type,
        before: { metadata, spec: specs.from },
        object: { metadata, spec: specs.to },
        through: "update",
        field,
        reason,
      };
    },
  };
}

export function goodObjectsOf(kind: KindName) {
  return (title: string, spec: Json, metadata: ObjectMeta = {}): GoodObject => {
    return { title, type: types[kind], object: { metadata: { name: nameFrom(title), ...metadata }, spec } };
  };
}

function meta(title: string): ObjectMeta {
  return { name: nameFrom(title) };
}

function nameFrom(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 60)
    .replaceAll(/-$/g, "");
}
