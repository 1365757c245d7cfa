/** Usage of a caller's sandboxes. A foreign sandbox answers as if it did not exist (I8). */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import type { Caller } from "../caller.ts";
import { findPod, noSuchSandbox } from "#services/reading/find-sandbox.ts";
import { ServiceError } from "../service-error.ts";
import type { Capacity } from "./pod-use.ts";
import type { UsageSample } from "./usage-log.ts";
import type { UsageSampler } from "./usage-sampler.ts";

export interface SandboxUsage {
  /** Of one that lives; paused ones show what was before. Throws not_found. */
  of(caller: Caller, sandboxId: string, span: UsageSpan): Promise<UsageReport>;
  /** The newest sample of each; ids without one are left out. */
  latest(caller: Caller, sandboxIds: readonly string[]): Promise<ReadonlyMap<string, LatestUsage>>;
}

export interface UsageSpan {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

export interface UsageReport {
  readonly limits: Capacity;
  readonly samples: readonly UsageSample[];
}

export interface LatestUsage {
  readonly limits: Capacity;
  readonly sample: UsageSample;
}

export interface SandboxUsageDeps {
  readonly cache: Pick<SandboxCache, "podsOfSandbox">;
  readonly sampler: Pick<UsageSampler, "ask" | "log" | "limitsOf">;
}

const maxIds = 100;
const nothing: Capacity = { cpus: 0, memoryBytes: 0, diskBytes: 0 };

export function sandboxUsage(deps: SandboxUsageDeps): SandboxUsage {
  const { sampler } = deps;
  return {
    of: async (caller, sandboxId, { fromMs = 0, toMs = Infinity }) => {
      if (fromMs > toMs) throw new ServiceError("invalid_request", "start must not be after end", { field: "start" });
      if (!isLiving(deps, caller, sandboxId)) throw noSuchSandbox(sandboxId);
      await sampler.ask(sandboxId);
      return { limits: sampler.limitsOf(sandboxId) ?? nothing, samples: sampler.log.between(sandboxId, fromMs, toMs) };
    },
    latest: async (caller, sandboxIds) => {
      if (sandboxIds.length > maxIds) {
        const message = `sandbox_ids has ${sandboxIds.length} sandboxes; at most ${maxIds} are allowed`;
        throw new ServiceError("invalid_request", message, { field: "sandbox_ids" });
      }
      const living = sandboxIds.filter((sandboxId) => isLiving(deps, caller, sandboxId));
      await Promise.all(living.map((sandboxId) => sampler.ask(sandboxId)));
      return new Map(
        living.flatMap((sandboxId) => {
          const [sample, limits] = [sampler.log.last(sandboxId), sampler.limitsOf(sandboxId)];
          return sample === undefined || limits === undefined ? [] : [[sandboxId, { limits, sample }] as const];
        }),
      );
    },
  };
}

function isLiving(deps: SandboxUsageDeps, caller: Caller, sandboxId: string): boolean {
  const pod = findPod(deps, caller, sandboxId);
  return pod !== undefined && isClaimed(pod);
}
