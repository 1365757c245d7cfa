/** What the control plane keeps in a pool's metadata: its finalizer, what it takes over from its template, and which template that is. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { annotationKeys, finalizers } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { syncAnnotationsFromTemplate, syncLabelsFromTemplate } from "#sandbox/pools/sync-from-template.ts";
import { patchPool } from "./patch-pool.ts";
import { namedTemplate } from "./pool-blueprint.ts";
import type { PoolTools } from "./pool-deps.ts";

/** The changed pool; undefined if another writer has changed it meanwhile. */
export async function keepMetadata(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<SandboxPool | undefined> {
  const change = metadataChange(pool, namedTemplate(tools, pool));
  return change === undefined ? pool : patchPool(tools, pool, change, signal);
}

/** A merge patch of the metadata, undefined when all is as it should be. A template that is gone leaves what came from it. */
export function metadataChange({ metadata }: SandboxPool, template: SandboxTemplate | undefined): JsonObject | undefined {
  const present = metadata.finalizers ?? [];
  const { labels = {}, annotations = {} } = metadata;
  const changed = withoutUndefined({
    // Without our finalizer a deleted pool would be gone before its pods are looked after.
    finalizers: present.includes(finalizers.pool) ? undefined : [...present, finalizers.pool],
    labels: template && difference(labels, syncLabelsFromTemplate(labels, template.metadata.labels)),
    annotations: template && difference(annotations, wantedAnnotations(annotations, template)),
  });
  return Object.keys(changed).length === 0 ? undefined : changed;
}

type StringMap = Readonly<Record<string, string | null>>;

function wantedAnnotations(annotations: Readonly<Record<string, string>>, { metadata, spec }: SandboxTemplate): StringMap {
  return {
    ...syncAnnotationsFromTemplate(annotations, metadata.annotations),
    [annotationKeys.templateName]: metadata.name ?? "",
    // A template that has lost its version must not leave the old one standing.
    [annotationKeys.templateVersion]: spec.version === undefined || spec.version === "" ? null : spec.version,
  };
}

function difference(present: Readonly<Record<string, string>>, wanted: StringMap): StringMap | undefined {
  const entries = Object.entries(wanted).filter(([key, value]) => (Object.hasOwn(present, key) ? present[key] : null) !== value);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
