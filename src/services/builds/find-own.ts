import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import type { BuildBook } from "./build-book.ts";
import type { StoredBuild, StoredTemplate } from "./build-records.ts";
import { findBuilt } from "./find-built.ts";
import type { BuildName } from "./template-builds.ts";

/** For callers that may change it: a template of others does not exist (I8). */
export function ownTemplate(book: BuildBook, caller: Caller, name: string): StoredTemplate {
  const template = findBuilt(book, caller, name);
  if (template !== undefined && book.isOwn(caller, template)) return template;
  throw new ServiceError("not_found", `there is no built template ${JSON.stringify(name)}`);
}

export function ownBuild(book: BuildBook, caller: Caller, { template, buildId }: BuildName): StoredBuild {
  const build = book.build(buildId);
  const isMeant = template === undefined || findBuilt(book, caller, template)?.templateId === build?.templateId;
  if (build !== undefined && book.isOwn(caller, build) && isMeant) return build;
  const of = template === undefined ? "there is no build" : `template ${JSON.stringify(template)} has no build`;
  throw new ServiceError("not_found", `${of} ${JSON.stringify(buildId)}`);
}
