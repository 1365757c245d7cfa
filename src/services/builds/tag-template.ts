/** Tags of a built template, and its end. */
import { defaultTag, isTag, readTemplateName } from "#builds/template-name.ts";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import { isUnderWay } from "./build-records.ts";
import { ownTemplate } from "./find-own.ts";
import { checkTagRoom } from "./tag-room.ts";
import type { TemplateBuildsDeps, TemplateTag } from "./template-builds.ts";

export function tagsOfTemplate({ book }: TemplateBuildsDeps, caller: Caller, name: string): readonly TemplateTag[] {
  const { tags } = ownTemplate(book, caller, name);
  return Object.entries(tags).map(([tag, { buildId, at }]) => ({ tag, buildId, createdAt: at }));
}

export async function assignTags(deps: TemplateBuildsDeps, caller: Caller, target: string, tags: readonly string[]) {
  const name = readTemplateName(target);
  if (typeof name === "string") throw wrong("target", name);
  if (tags.length === 0) throw wrong("tags", "name at least one tag");
  checkTags(tags);
  const template = ownTemplate(deps.book, caller, target);
  const from = name.tag ?? defaultTag;
  // Names such as `constructor` are tags too.
  const tagged = Object.hasOwn(template.tags, from) ? template.tags[from] : undefined;
  if (tagged === undefined) {
    const available = Object.keys(template.tags);
    throw new ServiceError("not_found", `template ${template.name} has no tag ${JSON.stringify(from)}`, { field: "target", available });
  }
  checkTagRoom(template, tags);
  const written = await deps.shelf.tag(template.templateId, tagged.buildId, tags, new AbortController().signal);
  if (written === undefined) throw new ServiceError("not_found", `there is no built template ${JSON.stringify(target)}`);
  const [first = from] = tags;
  return { tag: first, tags, buildId: tagged.buildId, createdAt: written.tags[first]?.at ?? tagged.at };
}

export async function removeTags(deps: TemplateBuildsDeps, caller: Caller, text: string, tags: readonly string[]): Promise<void> {
  const name = readTemplateName(text);
  if (typeof name === "string") throw wrong("name", name);
  if (name.tag !== undefined) throw wrong("name", "name the template without a tag; the tags stand in `tags`");
  if (tags.length === 0) throw wrong("tags", "name at least one tag");
  checkTags(tags);
  if (tags.includes(defaultTag))
    throw wrong("tags", `the tag ${defaultTag} cannot be removed: give it to another build, or delete the template`);
  const { templateId } = ownTemplate(deps.book, caller, text);
  await deps.book.changeTemplate(templateId, (template) => ({
    ...template,
    tags: Object.fromEntries(Object.entries(template.tags).filter(([tag]) => !tags.includes(tag))),
  }));
}

function checkTags(tags: readonly string[]): void {
  const bad = tags.find((tag) => !isTag(tag));
  if (bad !== undefined) throw wrong("tags", `tag ${JSON.stringify(bad)} is invalid: it has letters, digits, dots, - and _`);
}

/** First it is gone for callers; what cannot be removed now is removed by a sweep. */
export async function deleteTemplate(deps: TemplateBuildsDeps, caller: Caller, name: string): Promise<void> {
  const { templateId } = ownTemplate(deps.book, caller, name);
  const deleted = await deps.book.changeTemplate(templateId, (template) => ({ ...template, isDeleted: true }));
  for (const { buildId } of [...deps.book.builds(templateId)].filter(isUnderWay))
    await deps.loop.cancel(buildId, "the template was deleted");
  if (deleted !== undefined) await deps.shelf.remove(deleted);
}

function wrong(field: string, message: string): ServiceError {
  return new ServiceError("invalid_request", message, { field });
}
