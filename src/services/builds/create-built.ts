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
import type { BuildResult } from "./build-records.ts";
import { findBuilt } from "./find-built.ts";

/** The create itself for everything that was not built. Throws not_found for a tag that there is not. */
export function createOfBuilt(book: BuildBook, caller: Caller, command: CreateSandbox): CreateSandbox {
  const [, name = "", ownTag] = /^(.*?)(?::([^:/]+))?$/.exec(command.from) ?? [];
  const template = findBuilt(book, caller, name);
  if (template === undefined) return command;
  const { templateVersion, ...rest } = command;
  const meant = { ...rest, from: template.env };
  // Versions are of the template's object, which are not tags.
  if (templateVersion !== undefined && template.tags[templateVersion] === undefined && /^v\d+\.\d+\.\d+$/.test(templateVersion)) {
    return { ...meant, templateVersion };
  }
  const asked = ownTag === "latest" ? defaultTag : ownTag;
  const tag = templateVersion ?? asked ?? defaultTag;
  const tagged = template.tags[tag];
  const result = tagged && book.build(tagged.buildId)?.result;
  if (tagged === undefined || result === undefined) throw noSuchTag(template.name, tag, Object.keys(template.tags));
  // Another image is another program.
  if (command.image !== undefined || command.containerImages !== undefined) return meant;
  const isServed = template.servedBuildId === tagged.buildId;
  if (!isServed && !book.isOwn(caller, template)) throw noSuchTag(template.name, tag, [defaultTag]);
  return { ...meant, ...(!isServed && { image: result.image }), ...startOf(result, command) };
}

function noSuchTag(name: string, tag: string, available: readonly string[]): ServiceError {
  return new ServiceError("not_found", `template ${name} has no tag ${JSON.stringify(tag)}`, { field: "from", available });
}

function startOf({ context, startCmd, readyCmd }: BuildResult, command: CreateSandbox): Partial<CreateSandbox> {
  const plan: StartPlan = { startCmd, readyCmd, context };
  const { user } = context;
  const hooks: PostStartHook[] = [
    ...(startCmd === "" ? [] : [{ exec: { command: startCommand(plan), user } }]),
    ...(readyCmd === "" || isOnlyWaiting(readyCmd) ? [] : [{ exec: { command: readyCommand(plan), user, timeoutMs: createLimits.hookTimeout.max } }]),
  ];
  return {
    defaultUser: user,
    ...(context.workdir !== undefined && { defaultWorkdir: context.workdir }),
    ...(hooks.length > 0 && { postStartHooks: [...hooks, ...(command.postStartHooks ?? [])] }),
  };
}
