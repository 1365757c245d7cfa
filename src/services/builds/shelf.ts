/**
 * What remains of builds: the template that is made of one, its tags, and layers for later builds. What nothing needs any more is removed by a sweep: level-based, so
 * one that was cut short is done again.
 */
import { defaultTag } from "#builds/template-name.ts";
import type { Clock } from "#lib/clock.ts";
import type { BuildBook } from "./build-book.ts";
import type { BuildLogs } from "./build-logs.ts";
import { type BuildResult, callerFor, isUnderWay, type StoredBuild, type StoredTemplate } from "./build-records.ts";
import type { LayerTaker } from "./layer-taker.ts";
import { publishTemplate, type PublishDeps, unpublishTemplate } from "./publish-template.ts";
import type { UploadStore } from "./upload-store.ts";

export interface ShelfDeps extends PublishDeps {
  readonly book: BuildBook;
  readonly logs: BuildLogs;
  readonly uploads: Pick<UploadStore, "sweep">;
  readonly layers: LayerTaker;
  readonly clock: Clock;
}

/** Layers of builds without a tag are kept for later builds so long. */
const keptMs = 7 * 24 * 3_600_000;
/** A build that is not started within this time is not going to be. */
const waitingMs = 3 * 3_600_000;
/** The newest of a template stay for their logs; the others go. */
const keptBuilds = 30;

export class Shelf {
  readonly #deps: ShelfDeps;

  constructor(deps: ShelfDeps) {
    this.#deps = deps;
  }

  /** Gives the build its tags, and its image to the Env of the template where that serves these. */
  async put(build: StoredBuild, _result: BuildResult, signal: AbortSignal): Promise<void> {
    await this.tag(build.templateId, build.buildId, build.tags, signal);
  }

  /** Undefined: the template is gone. */
  async tag(templateId: string, buildId: string, tags: readonly string[], signal: AbortSignal): Promise<StoredTemplate | undefined> {
    const at = new Date(this.#deps.clock.now()).toISOString();
    const tagged = await this.#deps.book.changeTemplate(templateId, (template) => ({
      ...template,
      ...sizeOf(this.#deps.book.build(buildId) ?? template),
      tags: { ...template.tags, ...Object.fromEntries(tags.map((tag) => [tag, { buildId, at }])) },
    }));
    return tagged && (await this.#serve(tagged, buildId, signal));
  }

  /** Throws what the objects say; the removal of what is there goes on in the next sweep. */
  async remove(template: StoredTemplate): Promise<void> {
    const { book, logs, layers } = this.#deps;
    await unpublishTemplate(this.#deps, template);
    const builds = [...book.builds(template.templateId)];
    const needed = this.#neededLayers(template.templateId);
    for (const build of builds) {
      for (const { checkpoint } of build.layers) {
        if (checkpoint !== undefined && !needed.has(checkpoint)) await layers.remove(callerFor(build.owner), checkpoint);
      }
      logs.remove(build.buildId);
      await book.removeBuild(build.buildId);
    }
    await book.removeTemplate(template.templateId);
  }

  /** Forgets builds of the template that are too many or too old. */
  async tidy(templateId: string): Promise<void> {
    const template = this.#deps.book.template(templateId);
    if (template !== undefined && template.isDeleted !== true) await this.#forgetOld(template);
  }

  async sweep(cancel: (buildId: string, why: string) => Promise<void>): Promise<void> {
    const { book, logs, uploads, clock } = this.#deps;
    const templates = Iterator.from(book.templates()).toArray();
    for (const template of templates) if (template.isDeleted === true) await this.remove(template);
    for (const { status, createdAt, buildId } of Iterator.from(book.builds()).toArray()) {
      const isLate = status === "waiting" && clock.now() - Date.parse(createdAt) > waitingMs;
      if (isLate) await cancel(buildId, "the build was not started in time");
    }
    for (const template of templates) if (template.isDeleted !== true) await this.#forgetOld(template);
    await uploads.sweep();
    logs.removeOthers((buildId) => book.build(buildId) !== undefined);
  }

  /** Only the default tag is served by pods that wait; without one, what was built last. */
  async #serve(template: StoredTemplate, buildId: string, signal: AbortSignal): Promise<StoredTemplate | undefined> {
    const { book } = this.#deps;
    const served = template.tags[defaultTag]?.buildId ?? buildId;
    const image = book.build(served)?.result?.image;
    if (image === undefined) return template;
    await publishTemplate(this.#deps, template, image, signal);
    return await book.changeTemplate(template.templateId, (one) => ({ ...one, servedBuildId: served }));
  }

  async #forgetOld(template: StoredTemplate): Promise<void> {
    const { book, logs, layers, clock } = this.#deps;
    const tagged = new Set(Object.values(template.tags).map(({ buildId }) => buildId));
    const old = [...book.builds(template.templateId)]
      .filter((build) => !isUnderWay(build) && !tagged.has(build.buildId) && build.buildId !== template.servedBuildId)
      .toSorted((left, right) => (left.createdAt < right.createdAt ? 1 : -1))
      .filter((build, at) => at >= keptBuilds || clock.now() - Date.parse(build.createdAt) > keptMs);
    for (const build of old) {
      logs.remove(build.buildId);
      await book.removeBuild(build.buildId);
      const needed = this.#neededLayers();
      for (const { checkpoint } of build.layers) {
        if (checkpoint !== undefined && !needed.has(checkpoint)) await layers.remove(callerFor(build.owner), checkpoint);
      }
    }
    // Nothing ever came of it.
    if (tagged.size === 0 && book.builds(template.templateId).next().done === true) await this.remove(template);
  }

  /** Of all builds, without those of one template. */
  #neededLayers(without?: string): ReadonlySet<string> {
    const builds = Iterator.from(this.#deps.book.builds()).filter(({ templateId }) => templateId !== without);
    return new Set(builds.flatMap(({ layers }) => layers.flatMap(({ checkpoint }) => (checkpoint === undefined ? [] : [checkpoint]))));
  }
}

function sizeOf({ cpuCount, memoryMB, diskMB }: StoredBuild | StoredTemplate) {
  return { cpuCount, memoryMB, ...(diskMB !== undefined && { diskMB }) };
}
