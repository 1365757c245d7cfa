/**
 * The use cases of template builds, as every API sees them. Each throws ServiceError.
 *
 * - `request-build.ts` a new build, its files, its start      - `read-builds.ts`   how builds and templates stand
 * - `tag-template.ts`  tags, and deleting a template; `tag-room.ts`  - `create-built.ts`  creates of sandboxes from built templates
 * - `build-loop.ts`    runs builds: `run-build.ts` one build, `run-step.ts` one step, `build-sandbox.ts` where it runs, `find-base.ts` what it starts from,
 *                      `find-layer.ts` layers of earlier builds, `finish-build.ts` start and ready command
 * - `shelf.ts`         what remains of builds: `publish-template.ts`
 * - `build-book.ts`    the records (`build-records.ts`)        - `build-logs.ts`, `upload-store.ts`, `upload-tokens.ts`, `check-archive.ts`  logs and files
 * - `layer-taker.ts`   what is needed of checkpoints          - `base-images.ts`  names of base images
 */
import type { BuildLogEntry } from "#builds/build-log.ts";
import type { Caller } from "#services/caller.ts";
import type { BuildBook } from "./build-book.ts";
import type { BuildLoop } from "./build-loop.ts";
import type { BuildLogs } from "./build-logs.ts";
import type { BuildReason, BuildRequest, BuildStatus } from "./build-records.ts";
import type { Shelf } from "./shelf.ts";
import type { PublishDeps } from "./publish-template.ts";
import type { UploadStore } from "./upload-store.ts";
import type { UploadTokens } from "./upload-tokens.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import type { Clock } from "#lib/clock.ts";
import { OneAtATime } from "#lib/one-at-a-time.ts";
import { ownBuild } from "./find-own.ts";
import { buildLogsOf, buildView, listBuilds, listTemplates, templateView } from "./read-builds.ts";
import { requestBuild, startBuild, uploadFiles, uploadLink } from "./request-build.ts";
import { assignTags, deleteTemplate, removeTags, tagsOfTemplate } from "./tag-template.ts";

export interface RequestBuild {
  /** `[team/]name[:tag]`. */
  readonly name: string;
  readonly tags?: readonly string[];
  readonly cpuCount?: number;
  readonly memoryMB?: number;
  /** Free space that is wanted after the steps. */
  readonly minFreeDiskMb?: number;
}

export interface RequestedBuild {
  readonly templateId: string;
  readonly buildId: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly isPublic: boolean;
}

export interface BuildName {
  /** An id of a template, or its name; left out where the build's own id says all. */
  readonly template?: string;
  readonly buildId: string;
}

export interface UploadLink {
  /** Files with this hash are there already. */
  readonly present: boolean;
  /** The right to send them, for the address of the upload. */
  readonly token: string;
}

export interface BuildView {
  readonly buildId: string;
  readonly templateId: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly status: BuildStatus;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly reason?: BuildReason;
}

export interface BuiltTemplate {
  readonly templateId: string;
  readonly name: string;
  readonly env: string;
  readonly isPublic: boolean;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly createdAt: string;
  readonly tags: readonly TemplateTag[];
  /** Newest first. */
  readonly builds: readonly BuildView[];
}

export interface TemplateTag {
  readonly tag: string;
  readonly buildId: string;
  readonly createdAt: string;
}

export interface TemplateBuilds {
  request(caller: Caller, wish: RequestBuild): Promise<RequestedBuild>;
  uploadLink(caller: Caller, template: string, hash: string): Promise<UploadLink>;
  /** For callers without a key. */
  upload(token: string, content: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void>;
  /** The largest that may be sent at once. */
  readonly maxUploadBytes: number;
  start(caller: Caller, build: BuildName, request: BuildRequest): Promise<void>;
  build(caller: Caller, build: BuildName): BuildView;
  /** Own ones, newest first; `template`: only those of this one. */
  list(caller: Caller, template?: string): readonly BuildView[];
  /** Resolves when nothing of it runs any more. One that is over stays as it is. */
  cancel(caller: Caller, build: BuildName): Promise<void>;
  logs(caller: Caller, build: BuildName): readonly BuildLogEntry[];
  /** Undefined: there is none, or it is not the caller's to use. */
  template(caller: Caller, name: string): BuiltTemplate | undefined;
  templates(caller: Caller): readonly BuiltTemplate[];
  /** `target`: `name:tag`. */
  assignTags(caller: Caller, target: string, tags: readonly string[]): Promise<TemplateTag & { readonly tags: readonly string[] }>;
  removeTags(caller: Caller, name: string, tags: readonly string[]): Promise<void>;
  tags(caller: Caller, name: string): readonly TemplateTag[];
  /** Resolves when it is gone for callers. */
  delete(caller: Caller, name: string): Promise<void>;
}

export interface TemplateBuildsDeps {
  readonly book: BuildBook;
  readonly loop: Pick<BuildLoop, "run" | "cancel">;
  readonly shelf: Pick<Shelf, "tag" | "remove">;
  readonly logs: Pick<BuildLogs, "read" | "add">;
  readonly uploads: UploadStore;
  readonly tokens: UploadTokens;
  readonly publish: Pick<PublishDeps, "client" | "namespace">;
  /** No limits when left out. */
  readonly limits?: Pick<LimitGuard, "ofTeam"> | undefined;
  readonly clock: Clock;
}

export function templateBuilds(deps: TemplateBuildsDeps): TemplateBuilds {
  // What a team asks for at once must find neither the same place nor the same name free.
  const turns = new OneAtATime();
  return {
    maxUploadBytes: deps.uploads.maxBytes,
    request: (caller, wish) => turns.run(caller.team, () => requestBuild(deps, caller, wish)),
    uploadLink: (caller, template, hash) => uploadLink(deps, caller, template, hash),
    upload: (token, content, signal) => uploadFiles(deps, token, content, signal),
    start: (caller, build, request) => startBuild(deps, caller, build, request),
    build: (caller, build) => buildView(deps, caller, build),
    list: (caller, template) => listBuilds(deps, caller, template),
    cancel: async (caller, build) => deps.loop.cancel(ownBuild(deps.book, caller, build).buildId, "the build was cancelled"),
    logs: (caller, build) => buildLogsOf(deps, caller, build),
    template: (caller, name) => templateView(deps, caller, name),
    templates: (caller) => listTemplates(deps, caller),
    assignTags: (caller, target, tags) => assignTags(deps, caller, target, tags),
    removeTags: (caller, name, tags) => removeTags(deps, caller, name, tags),
    tags: (caller, name) => tagsOfTemplate(deps, caller, name),
    delete: (caller, name) => deleteTemplate(deps, caller, name),
  };
}
