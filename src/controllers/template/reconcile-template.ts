/**
 * Tells how templates stand: whether pods of them can be claimed, whether the pools that name them have followed their last change, and
 * whether something is wrong. The pools' own status is all that it reads; what a pool does about its template is `controllers/pool`.
 *
 * - `reconcile-template.ts` the loop, and the write
 * - `template-status.ts`    the conditions (pure)
 */
import { isDeepStrictEqual } from "node:util";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { poolsByTemplateName } from "#kube/sandbox-cache/indexes.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { kubernetesTime } from "#lib/clock.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates, type SandboxTemplateStatus } from "#model/sandbox-template.ts";
import type { DaemonSettings } from "#sandbox/daemon-delivery.ts";
import { podBlueprint } from "#sandbox/pod-blueprint.ts";
import { resolveTemplate } from "#sandbox/resolve-template.ts";
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
  /** When the pools of a template were last looked at. */
  readonly lookedAt: Map<string, number>;
}

/** Brings the status of one template up to date. Reads only the cache; may run at any time, any number of times. */
async function reconcileTemplate(tools: TemplateTools, key: Key, signal: AbortSignal): Promise<Requeue> {
  const { cache, clock, lookedAt, statusEveryMs = defaultStatusEveryMs } = tools;
  const template = cache.templates.objects.get(key);
  const text = formatKey(key);
  if (template === undefined || template.metadata.deletionTimestamp !== undefined) {
    lookedAt.delete(text);
    return undefined;
  }
  const now = clock.now();
  const before = lookedAt.get(text);
  // Before the pools are looked at: a thousand of them that change at once are one look at a thousand, not a thousand looks.
  if (before !== undefined && before + statusEveryMs > now) return { afterMs: before + statusEveryMs - now, exact: true };
  lookedAt.set(text, now);
  const status = templateStatus(template, factsOf(tools, template), kubernetesTime(now));
  if (!isDeepStrictEqual(status, template.status)) await writeStatus(tools, template, status, signal);
  return undefined;
}

function factsOf({ cache, ...settings }: TemplateTools, template: SandboxTemplate): TemplateFacts {
  const { name = "" } = template.metadata;
  const pools = cache.pools.objects.lookup(poolsByTemplateName, name).filter((pool) => pool.metadata.deletionTimestamp === undefined);
  return { pools: pools.toArray(), defect: defectOf(template, settings) };
}

/** A template without a pod is no defect: its pools may bring their own. */
function defectOf(template: SandboxTemplate, settings: DaemonSettings): string | undefined {
  if (template.spec.template === undefined) return undefined;
  const resolved = resolveTemplate({ spec: { replicas: 0, templateName: template.metadata.name ?? "" } }, template);
  const made = resolved.kind === "template" ? podBlueprint(resolved.template, settings) : undefined;
  return made?.kind === "refused" ? made.message : undefined;
}

/** Only on what was seen: whoever has changed the template meanwhile wakes us again. */
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
  const tools = { ...deps, lookedAt: new Map<string, number>() };
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
