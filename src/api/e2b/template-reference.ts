/**
 * What a templateID of E2B means: `[namespace/]name[:version][//image]`. Pure.
 *
 * - `name` is an Env or a pool.
 * - `version` is a version of the Env's template. E2B's `default` and `latest` mean the current one.
 * - `image` replaces the image of the Env's sandboxes, for clients with thousands of images and one Env.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { ServiceError } from "#services/service-error.ts";

export interface TemplateReference {
  /** As a create takes it. */
  readonly from: string;
  readonly templateVersion?: string;
  readonly image?: string;
}

const servedTags: ReadonlySet<string> = new Set(["default", "latest"]);

/** Throws invalid_request for an invalid templateID. */
export function templateReference(templateId: string): TemplateReference {
  const at = templateId.indexOf("//");
  const source = at === -1 ? templateId : templateId.slice(0, at);
  const image = at === -1 ? undefined : templateId.slice(at + 2);
  if (image === "") throw invalid(`${JSON.stringify(templateId)} ends with //: add an image, as in base//python:3.12`);
  const [, from = source, tag] = /^(.*?)(?::([A-Za-z0-9._-]+))?$/.exec(source) ?? [];
  if (from === "") throw invalid(`${JSON.stringify(templateId)} names no Env or pool`);
  return { from, ...withoutUndefined({ templateVersion: tag === undefined || servedTags.has(tag) ? undefined : tag, image }) };
}

function invalid(why: string): ServiceError {
  return new ServiceError("invalid_request", `templateID: ${why}`, { field: "templateID" });
}
