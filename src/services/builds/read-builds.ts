/** How builds and built templates stand, for their owner; a template for every caller that may use it. */
import type { BuildLogEntry } from "#builds/build-log.ts";
import type { Caller } from "#services/caller.ts";
import type { StoredBuild, StoredTemplate } from "./build-records.ts";
import { findBuilt } from "./find-built.ts";
import { ownBuild, ownTemplate } from "./find-own.ts";
import type { BuildName, BuildView, BuiltTemplate, TemplateBuildsDeps } from "./template-builds.ts";

type ReadDeps = Pick<TemplateBuildsDeps, "book" | "logs">;

export function buildView({ book }: ReadDeps, caller: Caller, name: BuildName): BuildView {
  const build = ownBuild(book, caller, name);
  return viewOf(build, book.template(build.templateId)?.name ?? "");
}

export function listBuilds({ book }: ReadDeps, caller: Caller, template?: string): readonly BuildView[] {
  const templateId = template === undefined ? undefined : ownTemplate(book, caller, template).templateId;
  return Iterator.from(book.builds(templateId))
    .filter((build) => book.isOwn(caller, build))
    .map((build) => viewOf(build, book.template(build.templateId)?.name ?? ""))
    .toArray()
    .toSorted((left, right) => (left.createdAt < right.createdAt ? 1 : -1));
}

export function buildLogsOf({ book, logs }: ReadDeps, caller: Caller, name: BuildName): readonly BuildLogEntry[] {
  return logs.read(ownBuild(book, caller, name).buildId);
}

export function templateView({ book }: ReadDeps, caller: Caller, name: string): BuiltTemplate | undefined {
  const template = findBuilt(book, caller, name);
  return template && shown({ book }, caller, template);
}

export function listTemplates({ book }: ReadDeps, caller: Caller): readonly BuiltTemplate[] {
  return Iterator.from(book.templates())
    .filter((template) => template.isDeleted !== true && book.isUsable(caller, template))
    .map((template) => shown({ book }, caller, template))
    .toArray()
    .toSorted((left, right) => (left.createdAt < right.createdAt ? -1 : 1));
}

function shown({ book }: Pick<ReadDeps, "book">, caller: Caller, template: StoredTemplate): BuiltTemplate {
  const { templateId, name, env, cpuCount, memoryMB, createdAt, owner } = template;
  const builds = book.isOwn(caller, template)
    ? [...book.builds(templateId)].toSorted((left, right) => (left.createdAt < right.createdAt ? 1 : -1))
    : [];
  const tags = Object.entries(template.tags).map(([tag, { buildId, at }]) => ({ tag, buildId, createdAt: at }));
  return {
    templateId,
    name,
    env,
    cpuCount,
    memoryMB,
    createdAt,
    isPublic: owner.team === "",
    tags,
    builds: builds.map((build) => viewOf(build, name)),
  };
}

function viewOf(build: StoredBuild, name: string): BuildView {
  const { buildId, templateId, tags, status, cpuCount, memoryMB, createdAt, startedAt, finishedAt, reason } = build;
  return {
    buildId,
    templateId,
    name,
    tags,
    status,
    cpuCount,
    memoryMB,
    createdAt,
    ...(startedAt !== undefined && { startedAt }),
    ...(finishedAt !== undefined && { finishedAt }),
    ...(reason !== undefined && { reason }),
  };
}
