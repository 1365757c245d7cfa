/** Names of built templates: `[team/]name[:tag]`. Pure. */

export const defaultTag = "default";

export interface TemplateName {
  /** Whose it is, where the name says so. */
  readonly team?: string;
  readonly name: string;
  readonly tag?: string;
}

const namePattern = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;
const tagPattern = /^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$/i;

export function isTag(text: string): boolean {
  return tagPattern.test(text);
}

/** A name, or a sentence about what is wrong with it. Capitals are made small, as E2B does. */
export function readTemplateName(text: string): TemplateName | string {
  const slash = text.indexOf("/");
  const team = slash === -1 ? undefined : text.slice(0, slash);
  const rest = slash === -1 ? text : text.slice(slash + 1);
  const colon = rest.indexOf(":");
  const name = (colon === -1 ? rest : rest.slice(0, colon)).trim().toLowerCase();
  const tag = colon === -1 ? undefined : rest.slice(colon + 1);
  if (team === "") return `template name ${JSON.stringify(text)} begins with a slash`;
  if (!namePattern.test(name)) {
    return `template name ${JSON.stringify(text)} is invalid: it has letters, digits, - and _, at most 63 characters, and may end in :TAG`;
  }
  if (tag !== undefined && !isTag(tag)) return `tag ${JSON.stringify(tag)} is invalid: it has letters, digits, dots, - and _`;
  return { name, ...(team !== undefined && { team }), ...(tag !== undefined && { tag }) };
}

/** The tag of the name and the others, each once; `default` if there is none. */
export function tagsOf(name: TemplateName, tags: readonly string[]): readonly string[] {
  const all = [...new Set([...(name.tag === undefined ? [] : [name.tag]), ...tags])];
  return all.length === 0 ? [defaultTag] : all;
}
