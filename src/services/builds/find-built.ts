import { readTemplateName } from "#builds/template-name.ts";
import type { Caller } from "#services/caller.ts";
import type { BuildBook } from "./build-book.ts";
import type { StoredTemplate } from "./build-records.ts";

/**
 * The built template that a caller means by `[team/]name[:tag]`, an id, or the name of its Env: one of its own before one that is for every caller. What is
 * foreign does not exist (I8).
 */
export function findBuilt(book: BuildBook, caller: Caller, text: string): StoredTemplate | undefined {
  const read = readTemplateName(text);
  if (typeof read === "string" || (read.team !== undefined && caller.role === "tenant" && read.team !== caller.team)) return undefined;
  const { name, team } = read;
  // A bare name is of the caller's own team, or of none: an admin sees those of all.
  const isNamed = (of: string): boolean => team !== undefined || of === "" || of === caller.team;
  const usable = Iterator.from(book.templates())
    .filter((template) => template.isDeleted !== true && (team === undefined || template.owner.team === team))
    .filter(
      ({ templateId, env, ...template }) => templateId === name || env === name || (template.name === name && isNamed(template.owner.team)),
    )
    .filter((template) => book.isUsable(caller, template))
    .toArray();
  return (
    usable.find(({ owner }) => owner.team === caller.team && owner.user === caller.user) ??
    usable.find(({ owner }) => owner.team === caller.team) ??
    usable[0]
  );
}
