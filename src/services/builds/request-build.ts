/** A new build: its name and size first, then its files, then its steps, which start it. */
import { randomBytes, randomUUID } from "node:crypto";
import { complaintAboutSize, usualSize } from "#builds/build-size.ts";
import { filesHashPattern } from "#builds/build-step.ts";
import { isTag, readTemplateName, tagsOf, type TemplateName } from "#builds/template-name.ts";
import type { Caller } from "#services/caller.ts";
import { limitReached } from "#services/limits/limit-guard.ts";
import { tenantPoolName } from "#services/pools/tenant-pool-name.ts";
import { ServiceError } from "#services/service-error.ts";
import { type BuildRequest, isUnderWay, ownerOf, type StoredBuild, type StoredTemplate } from "./build-records.ts";
import { findBuilt } from "./find-built.ts";
import { ownBuild, ownTemplate } from "./find-own.ts";
import { checkFree } from "./publish-template.ts";
import { checkTagRoom } from "./tag-room.ts";
import type { BuildName, RequestBuild, RequestedBuild, TemplateBuildsDeps, UploadLink } from "./template-builds.ts";

const limits = { steps: 500, bytes: 256 * 1024, tags: 50 } as const;
const defaultBuildsOfTeam = 20;

export async function requestBuild(deps: TemplateBuildsDeps, caller: Caller, wish: RequestBuild): Promise<RequestedBuild> {
  if (caller.role === "tenant" && caller.team === "") throw new ServiceError("forbidden", "a key without a team cannot build templates");
  const name = nameOf(caller, wish.name);
  const tags = checkedTags(name, wish.tags ?? []);
  const size = sizeOf(wish);
  checkRoom(deps, caller);
  const template = await templateFor(deps, caller, name.name, size);
  checkTagRoom(template, tags);
  const build: StoredBuild = {
    buildId: randomUUID(),
    templateId: template.templateId,
    owner: ownerOf(caller),
    tags,
    status: "waiting",
    createdAt: new Date(deps.clock.now()).toISOString(),
    attempts: 0,
    layers: [],
    ...size,
  };
  await deps.book.addBuild(build);
  return { templateId: template.templateId, buildId: build.buildId, name: name.name, tags, isPublic: caller.team === "" };
}

function nameOf(caller: Caller, text: string): TemplateName {
  const name = readTemplateName(text);
  if (typeof name === "string") throw wrong("name", name);
  if (name.team !== undefined && name.team !== caller.team)
    throw wrong("name", `the namespace ${JSON.stringify(name.team)} is not the team of this key`);
  return name;
}

function checkedTags(name: TemplateName, tags: readonly string[]): readonly string[] {
  const bad = tags.find((tag) => !isTag(tag));
  if (bad !== undefined) throw wrong("tags", `tag ${JSON.stringify(bad)} is invalid: it has letters, digits, dots, - and _`);
  if (tags.length > limits.tags) throw wrong("tags", `there may be ${limits.tags} tags`);
  return tagsOf(name, tags);
}

const usualDiskMB = 1024;
const maxDiskMB = 1024 * 1024;

function sizeOf({ cpuCount = usualSize.cpuCount, memoryMB = usualSize.memoryMB, minFreeDiskMb }: RequestBuild) {
  const complaint = complaintAboutSize({ cpuCount, memoryMB });
  if (complaint !== undefined) throw wrong(complaint.field, complaint.message);
  if (minFreeDiskMb === undefined) return { cpuCount, memoryMB };
  if (!Number.isInteger(minFreeDiskMb) || minFreeDiskMb < 0 || minFreeDiskMb > maxDiskMB) {
    throw wrong("minFreeDiskMb", `minFreeDiskMb must be a whole number up to ${maxDiskMB}`);
  }
  return { cpuCount, memoryMB, ...(minFreeDiskMb > usualDiskMB && { diskMB: minFreeDiskMb }) };
}

function checkRoom({ book, limits: guard }: TemplateBuildsDeps, { team }: Caller): void {
  const limit = team === "" ? undefined : (guard?.ofTeam(team, "builds") ?? defaultBuildsOfTeam);
  if (limit === undefined) return;
  const used = Iterator.from(book.builds()).reduce((sum, build) => (build.owner.team === team && isUnderWay(build) ? sum + 1 : sum), 0);
  if (used >= limit) throw limitReached({ name: "builds", team, limit, used, wanted: 1 });
}

async function templateFor(
  deps: TemplateBuildsDeps,
  caller: Caller,
  name: string,
  size: Pick<StoredTemplate, "cpuCount" | "memoryMB" | "diskMB">,
): Promise<StoredTemplate> {
  const known = findBuilt(deps.book, caller, name);
  if (known !== undefined && known.name === name && deps.book.isOwn(caller, known) && known.owner.team === caller.team) return known;
  if (Iterator.from(deps.book.templates()).some(({ templateId }) => templateId === name)) {
    throw new ServiceError("conflict", `name ${JSON.stringify(name)} is the id of a template: choose another name`, { field: "name" });
  }
  checkTemplates(deps, caller);
  const templateId = newTemplateId();
  // Names of objects have no _; those that have one go by the id.
  const plain = name.includes("_") ? templateId : name;
  const env = caller.role === "tenant" ? tenantPoolName(caller, plain) : plain;
  await checkFree(deps.publish, env);
  const createdAt = new Date(deps.clock.now()).toISOString();
  const template: StoredTemplate = { templateId, owner: ownerOf(caller), name, env, createdAt, tags: {}, ...size };
  await deps.book.addTemplate(template);
  return template;
}

/** A template that is ready is an Env; one that never was counts as if it were. */
function checkTemplates({ book, limits: guard }: TemplateBuildsDeps, { team }: Caller): void {
  const limit = team === "" ? undefined : guard?.ofTeam(team, "envs");
  if (limit === undefined) return;
  const used = Iterator.from(book.templates()).reduce((sum, { owner }) => (owner.team === team ? sum + 1 : sum), 0);
  if (used >= limit) throw limitReached({ name: "envs", team, limit, used, wanted: 1 });
}

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

function newTemplateId(): string {
  return [...randomBytes(20)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

export async function uploadLink(deps: TemplateBuildsDeps, caller: Caller, template: string, hash: string): Promise<UploadLink> {
  ownTemplate(deps.book, caller, template);
  if (!filesHashPattern.test(hash)) throw wrong("hash", "the hash must have 64 lower-case hexadecimal digits");
  const upload = { team: caller.team, user: caller.user, hash };
  return { present: (await deps.uploads.use(upload)) !== undefined, token: deps.tokens.tokenFor(upload) };
}

export async function uploadFiles(
  deps: TemplateBuildsDeps,
  token: string,
  content: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  await deps.uploads.put(deps.tokens.uploadOf(token), content, signal);
}

export async function startBuild(deps: TemplateBuildsDeps, caller: Caller, name: BuildName, request: BuildRequest): Promise<void> {
  const build = ownBuild(deps.book, caller, name);
  checkRequest(request);
  const startedAt = new Date(deps.clock.now()).toISOString();
  let isWaiting = false;
  const started = await deps.book.changeBuild(build.buildId, (one) => {
    isWaiting = one.status === "waiting";
    return isWaiting ? { ...one, status: "building", startedAt, request } : undefined;
  });
  if (started === undefined || !isWaiting) throw new ServiceError("invalid_request", "build is not in waiting state");
  const older = Iterator.from(deps.book.builds(build.templateId))
    .filter((one) => one.buildId !== build.buildId && isUnderWay(one) && one.createdAt <= build.createdAt)
    .filter(({ tags }) => tags.some((tag) => build.tags.includes(tag)))
    .toArray();
  try {
    for (const one of older)
      await deps.loop.cancel(one.buildId, `the build was cancelled: build ${build.buildId} of the same template and tag is newer`);
  } finally {
    // Its record says that it is under way.
    deps.loop.run(build);
  }
}

function checkRequest({ steps, startCmd, readyCmd }: BuildRequest): void {
  if (steps.length > limits.steps) throw wrong("steps", `there may be ${limits.steps} steps, not ${steps.length}`);
  const bytes = Buffer.byteLength(JSON.stringify({ steps, startCmd, readyCmd }));
  if (bytes > limits.bytes) throw new ServiceError("too_large", `the steps have ${bytes} bytes; at most ${limits.bytes} are taken`);
}

function wrong(field: string, message: string): ServiceError {
  return new ServiceError("invalid_request", message, { field });
}
