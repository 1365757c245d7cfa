/**
 * Checkpoint: the files of a sandbox at one moment, kept as an image. New sandboxes start from it; it also is what remains
 * of a sandbox that was paused for long.
 *
 * The labels scheduling.navix.sh/team and /user name its owner, as on pods and pools: one rule of ownership for all kinds.
 */
import { Type, type Static } from "typebox";
import { customKind, objectSchema, ownResource } from "./custom-kind.ts";
import type { Frozen } from "./frozen.ts";
import { labelKeys } from "./keys.ts";
import type { ApiObject } from "./meta.ts";
import type { ResourceType } from "./resource.ts";
import { choice, duration, int64, labelValue, rules, text, time } from "./schema-builders.ts";

/** Pending: not begun. Creating: being taken. Succeeded: checkpointId can be used. Failed: message says why. Terminating: being removed. */
export const checkpointPhases = ["Pending", "Creating", "Succeeded", "Failed", "Terminating"] as const;

const specSchema = Type.Object(
  {
    sandboxID: labelValue("The sandbox to take it from. Cannot be changed.", {
      minLength: 1,
      ...rules({ rule: "self == oldSelf", message: "a checkpoint stays with its sandbox: make another one instead" }),
    }),
    keepRunning: Type.Optional(
      Type.Boolean({
        description: "Whether the sandbox goes on afterwards. If not, it is released once the checkpoint is there.",
        default: true,
      }),
    ),
    ttlAfterFinished: Type.Optional(
      duration("Delete the checkpoint this long after it succeeded or failed, such as 24h. Kept when left out."),
    ),
  },
  { description: "What to keep." },
);

const statusSchema = Type.Object(
  {
    phase: Type.Optional(choice(checkpointPhases, "How far it is.")),
    checkpointId: Type.Optional(text("Name it goes by when a sandbox is made from it. Set when it succeeded.")),
    image: Type.Optional(text("Image that holds it, with its digest.")),
    sizeBytes: Type.Optional(int64("Size of what the image adds to the one that the sandbox ran.", { minimum: 0 })),
    message: Type.Optional(text("What is going on, or why it failed.")),
    startTime: Type.Optional(time("When taking it began.")),
    completionTime: Type.Optional(time("When it succeeded or failed.")),
  },
  { description: "What has come of it." },
);

export type CheckpointSpec = Frozen<Static<typeof specSchema>>;
export type CheckpointStatus = Frozen<Static<typeof statusSchema>>;

export interface Checkpoint extends ApiObject {
  readonly spec: CheckpointSpec;
  readonly status?: CheckpointStatus;
}

export const Checkpoints: ResourceType<Checkpoint> = ownResource({ kind: "Checkpoint", shortName: "sbc", namespaced: true });

export const checkpointSchema = objectSchema({
  description: "The files of a sandbox at one moment, kept as an image that new sandboxes can start from.",
  spec: specSchema,
  status: statusSchema,
});

export const checkpointKind = customKind({
  resource: Checkpoints,
  schema: checkpointSchema,
  printerColumns: [
    { name: "Phase", type: "string", jsonPath: ".status.phase" },
    { name: "ID", type: "string", jsonPath: ".status.checkpointId" },
    { name: "Sandbox", type: "string", jsonPath: ".spec.sandboxID" },
    { name: "Message", type: "string", jsonPath: ".status.message" },
    { name: "User", type: "string", jsonPath: `.metadata.labels.${labelKeys.user.replaceAll(".", "\\.")}` },
  ],
});
