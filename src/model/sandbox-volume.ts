/**
 * SandboxVolume: files with a name and a size that outlive sandboxes, for one team.
 *
 * The labels scheduling.navix.sh/team and /user name its owner, as on pods and pools. Its data is named by its `metadata.uid`: a volume that is made
 * again under an old name is another one. The finalizer `volumeData` holds a deleted object until its data is gone.
 */
import { Type, type Static } from "typebox";
import { customKind, objectSchema, ownResource } from "./custom-kind.ts";
import type { Frozen } from "./frozen.ts";
import { labelKeys } from "./keys.ts";
import type { ApiObject } from "./meta.ts";
import type { ResourceType } from "./resource.ts";
import { choice, int64, rules, text } from "./schema-builders.ts";

/** Pending: it has no data yet. Ready: sandboxes can mount it. Failed: message says why. */
export const volumePhases = ["Pending", "Ready", "Failed"] as const;

/** What a team may call a volume: E2B's rule. */
export const volumeNamePattern = "^[A-Za-z0-9_-]+$";
export const volumeNameLength = 128;

/** A file system needs some room for itself. */
export const volumeSizes = { smallestMiB: 16, largestMiB: 1_048_576, usualMiB: 1024 } as const;

const unchanged = (what: string) =>
  rules({ rule: "self == oldSelf", message: `the ${what} of a volume cannot be changed: make another one` });

const specSchema = Type.Object(
  {
    name: text("What its team calls it. Cannot be changed.", {
      pattern: volumeNamePattern,
      minLength: 1,
      maxLength: volumeNameLength,
      ...unchanged("name"),
    }),
    sizeMiB: int64("How much it can hold, file system included, in MiB. Cannot be changed.", {
      minimum: volumeSizes.smallestMiB,
      maximum: volumeSizes.largestMiB,
      ...unchanged("size"),
    }),
  },
  { description: "What is wanted." },
);

const statusSchema = Type.Object(
  {
    phase: Type.Optional(choice(volumePhases, "Whether it can be mounted.")),
    message: Type.Optional(text("Why it cannot.")),
  },
  { description: "What has come of it." },
);

export type SandboxVolumeSpec = Frozen<Static<typeof specSchema>>;
export type SandboxVolumeStatus = Frozen<Static<typeof statusSchema>>;

export interface SandboxVolume extends ApiObject {
  readonly spec: SandboxVolumeSpec;
  readonly status?: SandboxVolumeStatus;
}

export const SandboxVolumes: ResourceType<SandboxVolume> = ownResource({ kind: "SandboxVolume", shortName: "sbv", namespaced: true });

export const sandboxVolumeSchema = objectSchema({
  description: "Files that outlive sandboxes, mounted into those that name them.",
  spec: specSchema,
  status: statusSchema,
});

export const sandboxVolumeKind = customKind({
  resource: SandboxVolumes,
  schema: sandboxVolumeSchema,
  printerColumns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "Volume", type: "string", jsonPath: ".spec.name" },
    { name: "MiB", type: "integer", jsonPath: ".spec.sizeMiB" },
    { name: "Team", type: "string", jsonPath: `.metadata.labels.${labelKeys.team.replaceAll(".", "\\.")}` },
    { name: "Message", type: "string", jsonPath: ".status.message" },
  ],
});
