/**
 * What the author of a template wrote for its users: Markdown in the template's annotation `docs`, shown with the names that hold for the reader in place of
 * `{{template}}`, `{{apiUrl}}`, `{{team}}` and `{{user}}` (pure). Anything else between braces stays as it is: documents show templates of other languages.
 */
import { annotationKeys } from "#model/keys.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import type { Caller } from "#services/caller.ts";

export interface DocsReader {
  readonly caller: Caller;
  /** Where the reader has reached the API, such as http://localhost:8080. */
  readonly apiUrl: string;
}

/** Undefined for a template without a word for its users. */
export function docsFor(template: SandboxTemplate, { caller, apiUrl }: DocsReader): string | undefined {
  const text = template.metadata.annotations?.[annotationKeys.docs];
  if (text === undefined || text === "") return undefined;
  const values = new Map([
    ["template", template.metadata.name ?? ""],
    ["apiUrl", apiUrl],
    ["team", caller.team],
    ["user", caller.user ?? ""],
  ]);
  return text.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (placeholder, name: string) => values.get(name) ?? placeholder);
}
