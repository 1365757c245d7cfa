/**
 * Creates from built templates: what `name`, `name:tag` and an id of one mean as a create. The sandbox has the user and the folder of the last step, runs the start
 * command, and is answered when the ready command succeeds; a ready command that only sleeps is for builds.
 */
import { isOnlyWaiting, readyCommand, startCommand, type StartPlan } from "#builds/start-plan.ts";
import { defaultTag } from "#builds/template-name.ts";
import type { Caller } from "#services/caller.ts";
import type { CreateSandbox, PostStartHook } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { createLimits } from "#services/creating/check-create.ts";
import type { BuildBook } from "./build-book.ts";
import type { BuildResult, StoredTemplate } from "./build-records.ts";
import { findBuilt } from "./find-built.ts";

/** The create itself for everything that was not built. Throws not_found for a tag that there is not. */
export function createOfBuilt(book: BuildBook, caller: Caller, command: CreateSandbox): CreateSandbox {
  const [, name = "", ownTag] = /^(.*?)(?::([^:/]+))?$/.exec(command.from) ?? [];
  const template = findBuilt(book, caller, name);
  if (template === undefined) return command;
  const { templateVersion, ...rest } = command;
  const meant = { ...rest, from: template.env };
  if (isVersion(template, templateVersion)) return { ...meant, templateVersion };
  const tag = templateVersion ?? (ownTag === "latest" ? defaultTag : (ownTag ?? defaultTag));
  const tagged = taggedIn(book, caller, template, tag);
  // Another image is another program.
  if (command.image !== undefined || command.containerImages !== undefined) return meant;
  return { ...meant, ...tagged.image, ...startOf(tagged.result, command) };
}

/** Versions are of the template's object; a tag may look like one, and then it is a tag. */
function isVersion({ tags }: StoredTemplate, version: string | undefined): version is string {
  return version !== undefined && tags[version] === undefined && /^v\d+\.\d+\.\d+$/.test(version);
}

/**
 * What the tag stands for. Its image is named even where the Env has the same: a pool serves what it had until a pod of the new version is there, and a create after a
 * build is for that build. Another caller than the owner cannot name it, and has what the pools serve.
 */
function taggedIn(book: BuildBook, caller: Caller, template: StoredTemplate, tag: string) {
  const tagged = template.tags[tag];
  const result = tagged && book.build(tagged.buildId)?.result;
  if (result === undefined) throw noSuchTag(template.name, tag, Object.keys(template.tags));
  // The nodes give an image to pods of its team alone, whatever an admin may see.
  const isOwners = book.isOwn(caller, template) && template.owner.team === caller.team;
  if (isOwners) return { result, image: { image: result.image } };
  if (template.servedBuildId !== tagged?.buildId) throw noSuchTag(template.name, tag, [defaultTag]);
  return { result, image: {} };
}

function noSuchTag(name: string, tag: string, available: readonly string[]): ServiceError {
  return new ServiceError("not_found", `template ${name} has no tag ${JSON.stringify(tag)}`, { field: "from", available });
}

function startOf({ context, startCmd, readyCmd }: BuildResult, command: CreateSandbox): Partial<CreateSandbox> {
  const plan: StartPlan = { startCmd, readyCmd, context };
  const { user } = context;
  const hooks: PostStartHook[] = [
    ...(startCmd === "" ? [] : [{ exec: { command: startCommand(plan), user } }]),
    ...(readyCmd === "" || isOnlyWaiting(readyCmd)
      ? []
      : [{ exec: { command: readyCommand(plan), user, timeoutMs: createLimits.hookTimeout.max } }]),
  ];
  return {
    defaultUser: user,
    ...(context.workdir !== undefined && { defaultWorkdir: context.workdir }),
    ...(hooks.length > 0 && { postStartHooks: [...hooks, ...(command.postStartHooks ?? [])] }),
  };
}
