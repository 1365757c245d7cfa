/** What the node of this machine is told by variables. Each has a usual value; one that is empty is not set. */
import type { UsualLimits } from "#engines/embedded/node/agent/container/pod-slot.ts";
import { type ImageSpaceLimits, usualImageSpace } from "#engines/embedded/node/image-space.ts";
import { defaultLimits, type LayerLimits } from "#images/layer/limits.ts";
import { parseDuration } from "#model/duration.ts";
import { quantityNumber } from "#model/quantity.ts";

export interface NodeSettings {
  readonly podLimits: Partial<UsualLimits>;
  readonly imageSpace: ImageSpaceLimits;
  readonly imageLimits: LayerLimits;
  /** Also on a runtime with known escapes. */
  readonly allowVulnerableRuntime: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** Below this not even the daemon of a sandbox starts. */
const leastProcesses = 16;
const leastStorageBytes = 16 * 2 ** 20;

/** Throws an error that names the variable, and what would be right. */
export function nodeSettings(env: Variables): NodeSettings {
  const pids = wholeNumber(env, "AGENTBOX_POD_PROCESSES", leastProcesses, 4_194_304);
  const ephemeralStorageBytes = bytes(env, "AGENTBOX_POD_STORAGE");
  return {
    podLimits: { ...(pids !== undefined && { pids }), ...(ephemeralStorageBytes !== undefined && { ephemeralStorageBytes }) },
    imageSpace: imageSpace(env),
    imageLimits: imageLimits(env),
    allowVulnerableRuntime: yesOrNo(env, "AGENTBOX_ALLOW_VULNERABLE_RUNC"),
  };
}

/** What one image may take. */
export function imageLimits(env: Variables): LayerLimits {
  const reserveBytes = bytes(env, "AGENTBOX_IMAGE_DISK_RESERVE");
  return {
    ...defaultLimits,
    maxBytes: bytes(env, "AGENTBOX_IMAGE_MAX_BYTES") ?? defaultLimits.maxBytes,
    maxRatio: wholeNumber(env, "AGENTBOX_IMAGE_MAX_RATIO", 1, 1_000_000) ?? defaultLimits.maxRatio,
    maxEntries: wholeNumber(env, "AGENTBOX_IMAGE_MAX_FILES", 1000, 100_000_000) ?? defaultLimits.maxEntries,
    ...(reserveBytes !== undefined && { reserveBytes }),
  };
}

function imageSpace(env: Variables): ImageSpaceLimits {
  const { highPercent, lowPercent, minAgeMs } = usualImageSpace;
  const limits = {
    highPercent: wholeNumber(env, "AGENTBOX_IMAGE_DISK_HIGH", 0, 100) ?? highPercent,
    lowPercent: wholeNumber(env, "AGENTBOX_IMAGE_DISK_LOW", 0, 100) ?? lowPercent,
    minAgeMs: duration(env, "AGENTBOX_IMAGE_MIN_AGE") ?? minAgeMs,
  };
  if (limits.lowPercent <= limits.highPercent) return limits;
  throw new Error(
    `AGENTBOX_IMAGE_DISK_LOW (${limits.lowPercent}) must not be above AGENTBOX_IMAGE_DISK_HIGH (${limits.highPercent}): set both`,
  );
}

function given(env: Variables, name: string): string | undefined {
  const text = env[name]?.trim();
  return text === "" ? undefined : text;
}

function wholeNumber(env: Variables, name: string, least: number, most: number): number | undefined {
  const text = given(env, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`${name} must be a number from ${least} to ${most}, not ${JSON.stringify(text)}`);
}

function yesOrNo(env: Variables, name: string): boolean {
  const text = given(env, name) ?? "0";
  if (text === "0" || text === "1") return text === "1";
  throw new Error(`${name} must be 1 or 0, not ${JSON.stringify(text)}`);
}

function bytes(env: Variables, name: string): number | undefined {
  const text = given(env, name);
  if (text === undefined) return undefined;
  const value = Math.floor(quantityNumber(text) ?? 0);
  if (value >= leastStorageBytes && Number.isSafeInteger(value)) return value;
  throw new Error(`${name} must be an amount of bytes such as "10Gi" or "500M", at least 16Mi, not ${JSON.stringify(text)}`);
}

function duration(env: Variables, name: string): number | undefined {
  const text = given(env, name);
  if (text === undefined) return undefined;
  try {
    return parseDuration(text);
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
  }
}
