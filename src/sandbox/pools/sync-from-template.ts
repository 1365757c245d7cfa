/** What a pool takes over from the metadata of its template. */
import { annotationKeys, labelKeys } from "#model/keys.ts";

type StringMap = Readonly<Record<string, string>>;

/** Where the template came from is not where the pool came from, and a pool's owner, Env and group are its own. */
const labelsLeftOut: ReadonlySet<string> = new Set([
  labelKeys.syncSource,
  labelKeys.team,
  labelKeys.user,
  labelKeys.env,
  labelKeys.scalingGroup,
  labelKeys.managedBy,
]);

/** Texts about the template, kubectl's copy of it, and what is said of the pool itself. */
const annotationsLeftOut: ReadonlySet<string> = new Set([
  annotationKeys.docs,
  annotationKeys.poolDocs,
  annotationKeys.templateName,
  annotationKeys.templateVersion,
  annotationKeys.overrides,
  annotationKeys.lastSandboxCreateTime,
  "kubectl.kubernetes.io/last-applied-configuration",
]);

/** The pool's labels with the template's in front. */
export function syncLabelsFromTemplate(pool: StringMap | undefined, template: StringMap | undefined): StringMap {
  return sync(pool, template, labelsLeftOut);
}

/** The pool's annotations with the template's in front. Keys that the control plane keeps are set afterwards, by their writer. */
export function syncAnnotationsFromTemplate(pool: StringMap | undefined, template: StringMap | undefined): StringMap {
  return sync(pool, template, annotationsLeftOut);
}

function sync(pool: StringMap = {}, template: StringMap = {}, leftOut: ReadonlySet<string>): StringMap {
  return { ...pool, ...Object.fromEntries(Object.entries(template).filter(([key]) => !leftOut.has(key))) };
}
