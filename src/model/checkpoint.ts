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
import { choice, duration, int64, labelValue, rules, stringMap, text, time } from "./schema-builders.ts";

/** Pending: not begun. Creating: being taken. Succeeded: checkpointId can be used. Failed: message says why. Terminating: being removed. */
export const checkpointPhases = ["Pending", "Creating", "Succeeded", "Failed", "Terminating"] as const;

/** Values of labelKeys.checkpointPurpose: what it was taken for. A checkpoint without one is a snapshot. */
export const checkpointPurposes = ["snapshot", "build", "fork", "pause"] as const;
export type CheckpointPurpose = (typeof checkpointPurposes)[number];

/** `name`, or `name:tag`. */
export const checkpointAliasPattern = "^[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,62})?$";
const maxConfigEntries = 200;

const words = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 4096 }), { description, maxItems: maxConfigEntries }));

const configSchema = Type.Object(
  {
    env: Type.Optional(stringMap("Variables that are added, or changed.", Type.String({ maxLength: 32_768 }))),
    user: Type.Optional(text("Name or number, optionally with a group after a colon.", { maxLength: 256 })),
    workingDir: Type.Optional(text("Where programs start.", { maxLength: 4096 })),
    entrypoint: words("Replaces the entrypoint; the command goes with it."),
    cmd: words("Replaces the command."),
  },
  { description: "How containers of the image start, where that is to differ from the image that the sandbox ran." },
);

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
    alias: Type.Optional(
      text("A name to find it by, with a tag or without. Several may have it: the newest that succeeded is meant.", {
        pattern: checkpointAliasPattern,
        maxLength: 127,
      }),
    ),
    config: Type.Optional(configSchema),
    pausedSandbox: Type.Optional(
      text("JSON, written by AgentBox: what a paused sandbox was on the pod that it gave back, so that it can be resumed.", {
        maxLength: 1_000_000,
      }),
    ),
  },
  { description: "What to keep." },
);

/** Values of status.reason of a checkpoint that failed. */
export const checkpointFailures = ["SandboxGone", "LimitReached", "TooLarge", "NotPossible", "NotImplemented"] as const;
export type CheckpointFailure = (typeof checkpointFailures)[number];

const sourceSchema = Type.Object(
  {
    pool: Type.Optional(text("Pool of the sandbox's pod.")),
    env: Type.Optional(text("Env of that pool, if it has one.")),
    container: Type.Optional(text("Container that it was taken from: the pod's first.")),
  },
  { description: "Where it was taken. A sandbox that names the checkpoint, and nothing else, is made there." },
);

const resumeSchema = Type.Object(
  {
    by: text("The process that resumes it, and which try of it."),
    pod: Type.Optional(text("The pod that carries it again, once one was claimed.")),
  },
  { description: "A resume that is under way. One that was begun by a process that has ended is taken over." },
);

const statusSchema = Type.Object(
  {
    holdsSandbox: Type.Optional(
      Type.Boolean({ description: "True from when a deeply paused sandbox has left its pod, until it runs on another one." }),
    ),
    sandboxEnded: Type.Optional(time("When its owner ended the sandbox that it has. What is left is its record.")),
    resume: Type.Optional(resumeSchema),
    phase: Type.Optional(choice(checkpointPhases, "How far it is.")),
    checkpointId: Type.Optional(text("Name it goes by when a sandbox is made from it. Set when it succeeded.")),
    image: Type.Optional(text("Image that holds it, with its digest.")),
    baseImage: Type.Optional(text("Image that the sandbox ran, with its digest.")),
    parent: Type.Optional(text("Id of the checkpoint that the sandbox was made from, if it was.")),
    source: Type.Optional(sourceSchema),
    sizeBytes: Type.Optional(int64("Size of what the image adds to the one that the sandbox ran.", { minimum: 0 })),
    reason: Type.Optional(text(`Why it failed, as a word: ${checkpointFailures.join(", ")}.`)),
    message: Type.Optional(text("What is going on, or why it failed.")),
    startTime: Type.Optional(time("When taking it began.")),
    completionTime: Type.Optional(time("When it succeeded or failed.")),
  },
  { description: "What has come of it." },
);

export type CheckpointConfig = Frozen<Static<typeof configSchema>>;
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
