/** A checkpoint as answers show it. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type Checkpoint, type checkpointPhases, type CheckpointPurpose, checkpointPurposes } from "#model/checkpoint.ts";
import { checkpointIdOf } from "#model/checkpoint-image.ts";
import { labelKeys } from "#model/keys.ts";

export interface CheckpointView {
  readonly id: string;
  readonly alias?: string;
  readonly purpose: CheckpointPurpose;
  /** What it was taken from. */
  readonly sandboxId: string;
  readonly phase: (typeof checkpointPhases)[number];
  /** With its digest; there when it succeeded. */
  readonly image?: string;
  readonly baseImage?: string;
  /** The checkpoint that the sandbox was made from. */
  readonly parent?: string;
  readonly poolName?: string;
  readonly envName?: string;
  readonly team: string;
  readonly user: string;
  readonly sizeBytes?: number;
  readonly message?: string;
  readonly createdAt: string;
  readonly completedAt?: string;
}

export function viewOfCheckpoint(checkpoint: Checkpoint): CheckpointView {
  const { metadata, spec, status = {} } = checkpoint;
  const { labels = {}, creationTimestamp = "" } = metadata;
  const { image, baseImage, parent, sizeBytes, message, completionTime: completedAt, source } = status;
  return {
    id: checkpointIdOf(checkpoint),
    purpose: purposeOf(checkpoint),
    sandboxId: spec.sandboxID,
    phase: metadata.deletionTimestamp === undefined ? (status.phase ?? "Pending") : "Terminating",
    team: labels[labelKeys.team] ?? "",
    user: labels[labelKeys.user] ?? "",
    createdAt: creationTimestamp,
    ...withoutUndefined({ alias: spec.alias, image, baseImage, parent, sizeBytes, message, completedAt }),
    ...withoutUndefined({ poolName: source?.pool, envName: source?.env }),
  };
}

export function purposeOf({ metadata: { labels } }: Checkpoint): CheckpointPurpose {
  return checkpointPurposes.find((one) => one === labels?.[labelKeys.checkpointPurpose]) ?? "snapshot";
}
