/** Bounds of a scaling group: the policy with new ones, and what they mean for its pods now. Pure. */
import type { EnvGroup, EnvGroupBody } from "#client/envs.ts";

export interface Bounds {
  readonly enabled: boolean;
  readonly min: number;
  /** Undefined: no limit. */
  readonly max: number | undefined;
}

/** Everything else of the policy stays as it is. */
export function changedPolicy(policy: EnvGroup["policy"], { enabled, min, max }: Bounds): EnvGroupBody {
  const { maxReplicas: _, ...rest } = policy ?? { name: undefined };
  const { name: __, ...kept } = rest;
  return { ...kept, enabled, minReplicas: min, ...(max !== undefined && { maxReplicas: max }) };
}

export function boundsEffect({ desired, running }: Pick<EnvGroup, "desired" | "running">, { enabled, min, max }: Bounds): string {
  if (max !== undefined && max < min) return "The most must not be below the fewest.";
  if (!enabled) return `It stays at ${desired} pods until somebody sets another size.`;
  if (min > desired) return `It grows from ${desired} to ${min} pods at once.`;
  if (max !== undefined && max < running)
    return `${running} sandboxes run: none is ended, and no new ones start until fewer than ${max} run.`;
  if (max !== undefined && max < desired) return `It shrinks from ${desired} to ${max} pods; idle ones go.`;
  return `Its ${desired} pods stay; from then on it may have ${min} to ${max ?? "any number of"} pods.`;
}
