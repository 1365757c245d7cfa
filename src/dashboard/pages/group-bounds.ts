/** Bounds of a scaling group: the policy with new bounds, and their effect on its pods. Pure. */
import type { EnvGroup, EnvGroupBody } from "#client/envs.ts";

export interface Bounds {
  readonly enabled: boolean;
  readonly min: number;
  /** Undefined: no limit. */
  readonly max: number | undefined;
}

/** Keeps the rest of the policy. */
export function changedPolicy(policy: EnvGroup["policy"], { enabled, min, max }: Bounds): EnvGroupBody {
  const { maxReplicas: _, ...rest } = policy ?? { name: undefined };
  const { name: __, ...kept } = rest;
  return { ...kept, enabled, minReplicas: min, ...(max !== undefined && { maxReplicas: max }) };
}

export function boundsEffect({ desired, running }: Pick<EnvGroup, "desired" | "running">, { enabled, min, max }: Bounds): string {
  if (max !== undefined && max < min) return "The maximum must not be below the minimum.";
  if (!enabled) return `It stays at ${desired} pods until its size is changed.`;
  if (min > desired) return `It grows from ${desired} to ${min} pods now.`;
  if (max !== undefined && max < running)
    return `${running} sandboxes are running: none is ended, and no new ones start until fewer than ${max} run.`;
  if (max !== undefined && max < desired) return `It shrinks from ${desired} to ${max} pods; idle ones are deleted.`;
  return `Its ${desired} pods stay; later it may have ${min} to ${max ?? "any number of"} pods.`;
}
