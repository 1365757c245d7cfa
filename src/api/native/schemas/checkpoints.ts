/** Checkpoints and forks: requests and answers. */
import { Type } from "typebox";
import { checkpointAliasPattern, checkpointPhases, checkpointPurposes } from "#model/checkpoint.ts";
import { choice, text } from "#model/schema-builders.ts";
import { closed, named, next, open, optional, pageQuery, span, time } from "./builders.ts";
import { createdSchema } from "./sandbox.ts";

const purpose = choice(checkpointPurposes, "What it was taken for. Lists show snapshots when left out.");
const memory = optional(Type.Boolean({ description: "Also keep processes and memory. Refused where that cannot be done." }));

export const takeSchema = named(
  "TakeCheckpoint",
  closed(
    {
      alias: optional(
        text("A name to find it by, perhaps with a tag: base or base:v1. The newest with that name is meant.", {
          pattern: checkpointAliasPattern,
          maxLength: 127,
        }),
      ),
      keepRunning: optional(Type.Boolean({ description: "False: the sandbox ends once the checkpoint is there. True when left out." })),
      memory,
      ttl: optional(span("Delete the checkpoint this long after it was taken. Kept when left out.")),
    },
    "A checkpoint to take.",
  ),
);

export const forkSchema = named(
  "ForkSandbox",
  closed(
    {
      count: optional(Type.Integer({ minimum: 1, maximum: 100, description: "How many sandboxes; 1 when left out." })),
      lifetime: optional(span("Maximum lifetime of each; what is left of the original's when left out.")),
      memory,
    },
    "What to make of the sandbox.",
  ),
);

export const checkpointSchema = named(
  "Checkpoint",
  open(
    {
      id: text("Its id. A create that names it as poolName makes a sandbox from it."),
      alias: optional(text("Name from the request.")),
      purpose: choice(checkpointPurposes, "What it was taken for."),
      sandboxId: text("Sandbox that it was taken from."),
      phase: choice(checkpointPhases, "How far it is."),
      image: optional(text("Image that holds it, with its digest. There when it succeeded.")),
      baseImage: optional(text("Image that the sandbox ran.")),
      parent: optional(text("Checkpoint that the sandbox was made from.")),
      poolName: optional(text("Pool of the sandbox.")),
      envName: optional(text("Env of that pool.")),
      team: text("Owner; empty without one."),
      user: text("Owner; empty without one."),
      sizeBytes: optional(Type.Integer({ description: "What the image adds to its base, in bytes on the disk." })),
      message: optional(text("Why it failed.")),
      createdAt: time("When it was asked for."),
      completedAt: optional(time("When it was there.")),
    },
    "The files of a sandbox at one moment, kept as an image.",
  ),
);

export const oneCheckpointSchema = open({ checkpoint: checkpointSchema }, "One checkpoint.");
export const checkpointPageSchema = open(
  { checkpoints: Type.Array(checkpointSchema, { description: "In the order of their names." }), next },
  "A page of checkpoints.",
);
export const forkedSchema = open(
  {
    sandboxes: Type.Array(createdSchema, { description: "The new sandboxes." }),
    failures: Type.Array(
      open({ code: text("An error code, as in a problem."), message: text("Explanation for people.") }, "One failure."),
      {
        description: "One entry for each sandbox that could not be made.",
      },
    ),
  },
  "What came of a fork.",
);

export const checkpointParams = Type.Object({ checkpointId: text("The id of a checkpoint, or its alias.") });
export const checkpointQuery = closed(
  {
    ...pageQuery,
    sandboxId: optional(text("Only checkpoints of this sandbox.", { maxLength: 253 })),
    alias: optional(text("Only checkpoints of this name; without a tag: with any.", { maxLength: 127 })),
    purpose: optional(purpose),
  },
  "Which checkpoints.",
);
