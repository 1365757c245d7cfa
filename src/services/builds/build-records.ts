/**
 * What is kept of built templates and their builds: one Secret each in the system namespace, because steps contain what their author wants (tokens in
 * ARG, passwords in RUN). Pure.
 */
import type { BuildContext } from "#builds/build-context.ts";
import type { WireStep } from "#builds/build-step.ts";
import type { BuildSize } from "#builds/build-size.ts";
import type { Secret } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import type { Caller } from "#services/caller.ts";

export const buildStatuses = ["waiting", "building", "ready", "error"] as const;
export type BuildStatus = (typeof buildStatuses)[number];

/** The owner. Work for a template or build is done with the rights of its owner only. */
export type BuildOwner = Pick<Caller, "role" | "team" | "user">;

export interface TaggedBuild {
  readonly buildId: string;
  /** ISO 8601: since when. */
  readonly at: string;
}

export interface StoredTemplate extends BuildSize {
  readonly templateId: string;
  readonly owner: BuildOwner;
  readonly name: string;
  /** The Env and the SandboxTemplate that are made of it. */
  readonly env: string;
  readonly createdAt: string;
  /** Tag to build. Only builds that succeeded have tags. */
  readonly tags: Readonly<Record<string, TaggedBuild>>;
  /** The build whose image the Env's pods run. */
  readonly servedBuildId?: string;
  /** The template is being deleted: callers do not see it any more. */
  readonly isDeleted?: boolean;
}

/** What a build starts from. */
export type BuildSource = { readonly image: string } | { readonly template: string };

export interface BuildRequest {
  readonly from: BuildSource;
  readonly steps: readonly WireStep[];
  readonly force: boolean;
  /** Empty: none. */
  readonly startCmd: string;
  readonly readyCmd: string;
}

/** The files after a step, and what the next step runs with. */
export interface StoredLayer {
  readonly key: string;
  readonly image: string;
  /** Left out: the image is the base image itself. */
  readonly checkpoint?: string;
  readonly context: BuildContext;
  /** Hash of the variables that the image has. An ENV step makes no image of its own. */
  readonly imageVariables?: string;
}

export interface BuildResult extends StoredLayer {
  readonly startCmd: string;
  readonly readyCmd: string;
  /** The key of the start and ready command that were tried. */
  readonly finalKey: string;
}

export interface BuildReason {
  /** `base`, `finalize`, or a number. */
  readonly step?: string;
  readonly message: string;
}

export interface StoredBuild extends BuildSize {
  readonly buildId: string;
  readonly templateId: string;
  readonly owner: BuildOwner;
  readonly tags: readonly string[];
  readonly status: BuildStatus;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** Left out: the build was not asked to start yet, or is over. */
  readonly request?: BuildRequest;
  /** How many processes have begun to work on it. */
  readonly attempts: number;
  /** The sandbox in which the steps run now. */
  readonly sandboxId?: string;
  readonly layers: readonly StoredLayer[];
  readonly result?: BuildResult;
  readonly reason?: BuildReason;
}

export const templateRecordType = "agentbox.navix.sh/built-template";
export const buildRecordType = "agentbox.navix.sh/template-build";

export function templateSecretName(templateId: string): string {
  return `built-template-${templateId}`;
}

export function buildSecretName(buildId: string): string {
  return `template-build-${buildId}`;
}

export function templateSecret(namespace: string, template: StoredTemplate): Secret {
  return secretOf(namespace, { name: templateSecretName(template.templateId), type: templateRecordType }, template);
}

export function buildSecret(namespace: string, build: StoredBuild): Secret {
  return secretOf(namespace, { name: buildSecretName(build.buildId), type: buildRecordType }, build);
}

function secretOf(
  namespace: string,
  { name, type }: { readonly name: string; readonly type: string },
  record: StoredTemplate | StoredBuild,
): Secret {
  const { team, user } = record.owner;
  const labels = { ...(team !== "" && { [labelKeys.team]: team }), ...(user !== undefined && { [labelKeys.user]: user }) };
  const data = { record: Buffer.from(JSON.stringify(record)).toString("base64") };
  return { metadata: { namespace, name, labels }, type, data };
}

/** Undefined for other Secrets, and for records that cannot be read. */
export function templateIn(secret: Secret): StoredTemplate | undefined {
  return secret.type === templateRecordType ? (recordIn(secret) as StoredTemplate | undefined) : undefined;
}

export function buildIn(secret: Secret): StoredBuild | undefined {
  return secret.type === buildRecordType ? (recordIn(secret) as StoredBuild | undefined) : undefined;
}

/** Secrets in a cache are shared and never changed: each is read once, however often builds look for layers. */
const read = new WeakMap<Secret, { readonly record: unknown }>();

function recordIn(secret: Secret): unknown {
  const known = read.get(secret);
  if (known !== undefined) return known.record;
  const record = parsed(secret);
  read.set(secret, { record });
  return record;
}

function parsed({ data, metadata }: Secret): unknown {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(data?.["record"] ?? "", "base64").toString());
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isUnderWay({ status }: Pick<StoredBuild, "status">): boolean {
  return status === "waiting" || status === "building";
}

/** The rights that work for a build has. */
export function callerFor({ role, team, user }: BuildOwner): Caller {
  return { role, team, ...(user !== undefined && { user }), keyId: "template-build" };
}

export function ownerOf({ role, team, user }: Caller): BuildOwner {
  return { role, team, ...(user !== undefined && { user }) };
}
