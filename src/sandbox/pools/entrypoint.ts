/** Whether sandboxes of a template run a program of their own beside the daemon, and which one. */
import { annotationKeys } from "#model/keys.ts";
import type { PoolTemplate } from "./resolve-template.ts";

export function runsEntrypoint(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[annotationKeys.runEntrypoint] === "true";
}

/** As containers do without us: the image's, unless the template gives a command; its arguments alone are for the image's entrypoint. */
export function runsImage({ template }: PoolTemplate): boolean {
  return runsEntrypoint(template?.metadata?.annotations) && (template?.spec?.containers[0]?.command ?? []).length === 0;
}
