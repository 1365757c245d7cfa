/**
 * Tells how templates stand: whether pods of them can be claimed, whether the pools that name them have followed their last change, and
 * whether something is wrong. The pools' own status is all that it reads; what a pool does about its template is `controllers/pool`.
 *
 * - `reconcile-template.ts` the loop, and the writes; templates in use are held by a finalizer
 * - `template-status.ts`    the conditions (pure)
 */
import { isDeepStrictEqual } from "node:util";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { poolsByTemplateName } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { kubernetesTime } from "#lib/clock.ts";
import { finalizers } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates, type SandboxTemplateStatus } from "#model/sandbox-template.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import { podBlueprint } from "#sandbox/pods/pod-blueprint.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { type TemplateFacts, templateStatus } from "./template-status.ts";

/** The settings are part of what pods are made from. */
export interface TemplateDeps extends ControllerDeps, DaemonSettings {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pools" | "templates">;
  /** Least time between two looks at the pools of one template, whatever happens to them. */
  readonly statusEveryMs?: number | undefined;
}

const defaultStatusEveryMs = 2_000;

interface TemplateTools extends TemplateDeps {
  /** What is wrong with the pods of a template, and of which version of it that was said. */
  readonly defects: Map<string, { readonly of: string; readonly defect: string | undefined }>;
  /** When the pools of a template were last looked at. */
  readonly lookedAt: Map<string, number>;
}

/** Brings the status of one template up to date. Reads only the cache; may run at any time, any number of times. */
async function reconcileTemplate(tools: TemplateTools, key: Key, signal: AbortSignal): Promise<Requeue> {
  const { cache, clock, lookedAt, statusEveryMs = defaultStatusEveryMs } = tools;
  const template = cache.templates.objects.get(key);
  const text = formatKey(key);
  if (template === undefined) {
    lookedAt.delete(text);
    tools.defects.delete(text);
    return undefined;
  }
  const now = clock.now();
  const before = lookedAt.get(text);
  // Before the pools are looked at: a thousand of them that change at once are one look at a thousand, not a thousand looks.
  if (before !== undefined && before + statusEveryMs > now) return { afterMs: before + statusEveryMs - now, exact: true };
  lookedAt.set(text, now);
  const held = await holdUsed(tools, template, signal);
  if (held === undefined) return undefined;
  const status = templateStatus(held, await factsOf(tools, held, signal), kubernetesTime(now));
  if (!isDeepStrictEqual(status, held.status)) await writeStatus(tools, held, status, signal);
  return undefined;
}

/** Also those that are going: their last pods are still made from it. */
function poolsOf({ cache }: TemplateTools, { metadata: { name = "" } }: SandboxTemplate): readonly SandboxPool[] {
  return cache.pools.objects.lookup(poolsByTemplateName, name).toArray();
}

/** A template that pools name is held, as volume claims in use are, so that deleting it breaks nothing. Undefined when it goes. */
async function holdUsed(tools: TemplateTools, template: SandboxTemplate, signal: AbortSignal): Promise<SandboxTemplate | undefined> {
  const { name = "", resourceVersion = "", deletionTimestamp, finalizers: present = [] } = template.metadata;
  const isUsed = poolsOf(tools, template).length > 0;
  const isHeld = present.includes(finalizers.templateInUse);
  // To one that is going nothing can be added, and from one that stays nothing need be taken.
  if (deletionTimestamp === undefined ? isHeld || !isUsed : isUsed || !isHeld) return template;
  const wanted = isHeld ? present.filter((one) => one !== finalizers.templateInUse) : [...present, finalizers.templateInUse];
  const body = { metadata: { resourceVersion, finalizers: wanted } };
  try {
    const held = await tools.client.patch(SandboxTemplates, { name }, { type: "merge", body }, { signal });
    if (isHeld) return undefined;
    tools.cache.templates.remember(held);
    return held;
  } catch (error) {
    if (!isLostRace(error)) throw error;
    return undefined;
  }
}

async function factsOf(tools: TemplateTools, template: SandboxTemplate, signal: AbortSignal): Promise<TemplateFacts> {
  const pools = poolsOf(tools, template).filter((pool) => pool.metadata.deletionTimestamp === undefined);
  return { pools, defect: defectOf(template, tools) ?? (await refusalOf(tools, template, pools[0], signal)) };
}

/** What the server would say to pods of it, asked once for every version: the fields of a pod are not checked when a template is stored. */
async function refusalOf(
  { client, defects }: TemplateTools,
  template: SandboxTemplate,
  pool: SandboxPool | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { name = "", uid = "", generation = 0 } = template.metadata;
  const { metadata, spec } = template.spec.template ?? {};
  if (spec === undefined || spec.containers.length === 0) return undefined;
  const key = formatKey({ name });
  const of = `${uid}/${generation}`;
  const known = defects.get(key);
  if (known?.of === of) return known.defect;
  const containers = spec.containers.map((container) => ({ ...container, image: container.image ?? "any" }));
  const pod: Pod = {
    metadata: { ...metadata, name: "template-check", namespace: pool?.metadata.namespace ?? "default" },
    spec: { ...spec, containers },
  };
  const defect = await podRefusal(client, pod, signal);
  defects.set(key, { of, defect });
  return defect;
}

async function podRefusal(client: ObjectClient, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.create(Pods, pod, { dryRun: true, signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    // Anything else is about us or the moment: no right to ask, a full quota, no such namespace, a server that is away.
    return isApiError(error, "Invalid", "BadRequest") ? `pods of it are refused: ${error.message} (in spec.template)` : undefined;
  }
}

/** A template without a pod is no defect: its pools may bring their own. */
function defectOf(template: SandboxTemplate, settings: DaemonSettings): string | undefined {
  if (template.spec.template === undefined) return undefined;
  const resolved = resolveTemplate({ spec: { replicas: 0, templateName: template.metadata.name ?? "" } }, template);
  const made = resolved.kind === "template" ? podBlueprint(resolved.template, settings) : undefined;
  return made?.kind === "refused" ? made.message : undefined;
}

/** Conditional on the version that was seen: a change of the template meanwhile triggers the next reconcile. */
async function writeStatus(
  { client, cache }: TemplateTools,
  template: SandboxTemplate,
  { conditions = [] }: SandboxTemplateStatus,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", resourceVersion = "" } = template.metadata;
  const body = { metadata: { resourceVersion }, status: { conditions: conditions.map((condition) => ({ ...condition })) } };
  try {
    cache.templates.remember(await client.patch(SandboxTemplates, { name }, { type: "merge", body }, { subresource: "status", signal }));
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}

export function startTemplateController(deps: TemplateDeps): Controller {
  const tools = { ...deps, lookedAt: new Map<string, number>(), defects: new Map() };
  const ofPools: Source = changesOf(deps.cache.pools, { keys: templateKeys });
  return startController(deps, {
    name: "template",
    reconcile: (key, signal) => reconcileTemplate(tools, key, signal),
    sources: [changesOf(deps.cache.templates), ofPools],
  });
}

function templateKeys({ spec: { templateName } }: SandboxPool): readonly Key[] {
  return templateName === undefined ? [] : [{ name: templateName }];
}
