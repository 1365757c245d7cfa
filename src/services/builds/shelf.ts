/**
 * What remains of builds: the template that is made of one, its tags, and layers for later builds. What nothing needs any more is removed by a sweep: level-based, so
 * one that was cut short is done again.
 */
import { defaultTag } from "#builds/template-name.ts";
import type { Clock } from "#lib/clock.ts";
import { ServiceError } from "#services/service-error.ts";
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
    const tagged = await this.tag(build.templateId, build.buildId, build.tags, signal);
    if (tagged === undefined) throw new ServiceError("not_found", "the template was deleted while it was built");
  }

  /** Undefined: the template is gone. */
  async tag(templateId: string, buildId: string, tags: readonly string[], signal: AbortSignal): Promise<StoredTemplate | undefined> {
    const at = new Date(this.#deps.clock.now()).toISOString();
    let before: StoredTemplate | undefined;
    const tagged = await this.#deps.book.changeTemplate(templateId, (template) => {
      before = template;
      const added = Object.fromEntries(tags.map((tag) => [tag, { buildId, at }]));
      return { ...template, ...sizeOf(this.#deps.book.build(buildId) ?? template), tags: { ...template.tags, ...added } };
    });
    try {
      return tagged && (await this.#serve(tagged, buildId, signal));
    } catch (error) {
      // A tag must not stand for a build that failed.
      if (before !== undefined) await this.#untag(before, buildId, tags);
      throw error;
    }
  }

  /** Gives tags that still stand for the build what they stood for before. */
  async #untag(before: StoredTemplate, buildId: string, tags: readonly string[]): Promise<void> {
    const isMeant = (tag: string, of: StoredTemplate): boolean => tags.includes(tag) && of.tags[tag]?.buildId === buildId;
    await this.#deps.book.changeTemplate(before.templateId, (template) => {
      const others = Object.entries(template.tags).filter(([tag]) => !isMeant(tag, template));
      const former = Object.entries(before.tags).filter(([tag]) => isMeant(tag, template));
      return { ...template, ...sizeOf(before), tags: Object.fromEntries([...others, ...former]) };
    });
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
    const { book, logs, uploads } = this.#deps;
    const failures: unknown[] = [];
    // What cannot be removed of one template keeps nothing else.
    const attempt = (work: () => Promise<void>): Promise<void> => work().catch((error: unknown) => void failures.push(error));
    for (const template of Iterator.from(book.templates()).toArray()) {
      if (template.isDeleted === true) await attempt(() => this.remove(template));
    }
    for (const build of Iterator.from(book.builds()).toArray()) await attempt(() => this.#sweepBuild(build, cancel));
    for (const { templateId } of Iterator.from(book.templates()).toArray()) await attempt(() => this.tidy(templateId));
    await attempt(() => uploads.sweep());
    logs.removeOthers((buildId) => book.build(buildId) !== undefined);
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} parts of what is old could not be removed`, { cause: failures[0] });
  }

  async #sweepBuild(build: StoredBuild, cancel: (buildId: string, why: string) => Promise<void>): Promise<void> {
    const { book, clock } = this.#deps;
    const isLate = build.status === "waiting" && clock.now() - Date.parse(build.createdAt) > waitingMs;
    if (isLate) await cancel(build.buildId, "the build was not started in time");
    // It was asked for while its template was deleted.
    if (book.template(build.templateId) !== undefined) return;
    await cancel(build.buildId, "the template was deleted");
    await this.#forget(build);
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
    const { book, clock } = this.#deps;
    const tagged = new Set(Object.values(template.tags).map(({ buildId }) => buildId));
    const old = [...book.builds(template.templateId)]
      .filter((build) => !isUnderWay(build) && !tagged.has(build.buildId) && build.buildId !== template.servedBuildId)
      .toSorted((left, right) => (left.createdAt < right.createdAt ? 1 : -1))
      .filter((build, at) => at >= keptBuilds || clock.now() - Date.parse(build.createdAt) > keptMs);
    for (const build of old) await this.#forget(build);
    // Nothing ever came of it; the first build of one that is new may be under way here.
    const isNew = clock.now() - Date.parse(template.createdAt) <= waitingMs;
    if (!isNew && tagged.size === 0 && book.builds(template.templateId).next().done === true) await this.remove(template);
  }

  async #forget(build: StoredBuild): Promise<void> {
    const { book, logs, layers } = this.#deps;
    logs.remove(build.buildId);
    await book.removeBuild(build.buildId);
    const needed = this.#neededLayers();
    for (const { checkpoint } of build.layers) {
      if (checkpoint !== undefined && !needed.has(checkpoint)) await layers.remove(callerFor(build.owner), checkpoint);
    }
  }

  /** Of all builds, without those of one template. */
  #neededLayers(without?: string): ReadonlySet<string> {
    const builds = Iterator.from(this.#deps.book.builds()).filter(({ templateId }) => templateId !== without);
    // A result may be another template's layer, where no step changed a file.
    const kept = builds.flatMap(({ layers, result }) => (result === undefined ? layers : [...layers, result]));
    return new Set(kept.flatMap(({ checkpoint }) => (checkpoint === undefined ? [] : [checkpoint])));
  }
}

function sizeOf({ cpuCount, memoryMB, diskMB }: StoredBuild | StoredTemplate) {
  return { cpuCount, memoryMB, ...(diskMB !== undefined && { diskMB }) };
}
