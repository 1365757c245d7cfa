/** Built templates and their builds, as E2B's clients read them. Pure. */
import type { BuildView, BuiltTemplate } from "#services/builds/template-builds.ts";
import { envdVersion } from "./sandbox-body.ts";

/** What a build says of a template goes before what its Env says. */
export function builtBody({ templateId, name, builds, isPublic }: BuiltTemplate) {
  const newest = builds.find(({ status }) => status === "ready") ?? builds[0];
  return {
    templateID: templateId,
    ...(newest !== undefined && { buildID: newest.buildId, buildStatus: newest.status }),
    names: [name],
    aliases: [name],
    public: isPublic,
    buildCount: builds.length,
  };
}

export function unservedBody(template: BuiltTemplate) {
  const { cpuCount, memoryMB, createdAt } = template;
  const none = { createdBy: null, spawnCount: 0, lastSpawnedAt: null, envdVersion };
  return { cpuCount, memoryMB, diskSizeMB: 0, createdAt, updatedAt: createdAt, ...none, ...builtBody(template) };
}

export function buildBody({ buildId: buildID, status, createdAt, startedAt, finishedAt, cpuCount, memoryMB }: BuildView) {
  const changedAt = finishedAt ?? startedAt ?? createdAt;
  return {
    buildID,
    status,
    createdAt,
    updatedAt: changedAt,
    cpuCount,
    memoryMB,
    envdVersion,
    ...(finishedAt !== undefined && { finishedAt }),
  };
}
