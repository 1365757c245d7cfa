/** What a build starts from: an image, a built template of the caller's, or any Env or pool that it may use. */
import { BuildFailure } from "#builds/build-failure.ts";
import { baseKey } from "#builds/step-key.ts";
import { defaultTag, readTemplateName } from "#builds/template-name.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import type { CreateSources } from "#services/creating/create-sources.ts";
import { isServiceError } from "#services/service-error.ts";
import type { BaseImages } from "./base-images.ts";
import type { BuildBook } from "./build-book.ts";
import type { BuildSource, StoredBuild, StoredLayer } from "./build-records.ts";
import type { SandboxSource } from "./build-sandbox.ts";
import { findBuilt } from "./find-built.ts";

export interface FindBaseDeps {
  readonly book: BuildBook;
  readonly images: BaseImages;
  readonly sources: Pick<CreateSources, "get">;
  /** The Env whose pods run builds that start from an image. */
  readonly builderEnv: string;
  /** The digest of an image, by which its layers are known. */
  readonly digestOf: (image: string, signal: AbortSignal) => Promise<string>;
  /** The image of a pool's sandboxes. */
  readonly imageOf: (pool: SandboxPool) => string | undefined;
  readonly asBaseFailure: (error: unknown) => unknown;
}

export interface BuildBase {
  /** For the log. */
  readonly text: string;
  /** What the first layer is known by. */
  readonly identity: string;
  readonly image: string;
  readonly source: SandboxSource;
  /** Of a template: it is ready for steps. */
  readonly layer?: StoredLayer;
  /** Of a template: what it starts. */
  readonly start?: { readonly startCmd: string; readonly readyCmd: string };
}

export async function findBase(deps: FindBaseDeps, owner: Caller, from: BuildSource, signal: AbortSignal): Promise<BuildBase> {
  if ("image" in from) return await fromImage(deps, from.image, signal);
  return fromBuilt(deps, owner, from.template) ?? (await fromEnv(deps, owner, from.template, signal));
}

async function fromImage(deps: FindBaseDeps, name: string, signal: AbortSignal): Promise<BuildBase> {
  const image = deps.images.imageFor(name);
  try {
    const digest = await deps.digestOf(image, signal);
    const text = image === name ? `FROM ${name}` : `FROM ${name} (${image})`;
    return { text, identity: `image ${digest}`, image, source: { from: deps.builderEnv, image } };
  } catch (error) {
    throw deps.asBaseFailure(error);
  }
}

function fromBuilt({ book, builderEnv }: FindBaseDeps, owner: Caller, name: string): BuildBase | undefined {
  const read = readTemplateName(name);
  const template = findBuilt(book, owner, name);
  if (template === undefined || typeof read === "string") return undefined;
  const tag = read.tag ?? defaultTag;
  const tagged = template.tags[tag];
  const build: StoredBuild | undefined = tagged && book.build(tagged.buildId);
  const result = build?.result;
  if (result === undefined) throw new BuildFailure("base", `template ${template.name} has no build with the tag ${tag}`);
  const { image, checkpoint, context, startCmd, readyCmd } = result;
  // Another team's image is used through its template, and not by its own name.
  const isOwn = book.isOwn(owner, template);
  return {
    text: `FROM TEMPLATE ${name}`,
    identity: `template ${result.key}`,
    image,
    source: isOwn ? { from: builderEnv, image } : { from: template.env },
    layer: { key: baseKey(`template ${result.key}`), image, context, ...(isOwn && checkpoint !== undefined && { checkpoint }) },
    start: { startCmd, readyCmd },
  };
}

async function fromEnv(deps: FindBaseDeps, owner: Caller, name: string, signal: AbortSignal): Promise<BuildBase> {
  try {
    const { defaultPool } = deps.sources.get(owner, name.replace(/:(?:default|latest)$/, ""));
    const image = defaultPool && deps.imageOf(defaultPool);
    if (image === undefined) throw new BuildFailure("base", `template ${name} has no pool to start from yet`);
    const identity = `image ${await deps.digestOf(image, signal)}`;
    return { text: `FROM TEMPLATE ${name}`, identity, image, source: { from: name.replace(/:(?:default|latest)$/, "") } };
  } catch (error) {
    if (isServiceError(error, "not_found"))
      throw new BuildFailure("base", `there is no template ${JSON.stringify(name)}`, { cause: error });
    throw deps.asBaseFailure(error);
  }
}
