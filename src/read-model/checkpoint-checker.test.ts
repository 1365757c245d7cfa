import { expect, test } from "vitest";
import type { Checkpoint } from "#model/checkpoint.ts";
import { checkCheckpointTaken } from "./checkpoint-checker.ts";
import type { Verdict } from "#kube/wait/verdict.ts";

function aCheckpoint(status?: Checkpoint["status"], metadata: Partial<Checkpoint["metadata"]> = {}): Checkpoint {
  return { metadata: { name: "c", ...metadata }, spec: { sandboxID: "i1" }, ...(status === undefined ? {} : { status }) };
}

test.for<[string, Checkpoint, Partial<Verdict>]>([
  ["without a status is awaited", aCheckpoint(), { kind: "waiting", missing: "the checkpoint is Pending" }],
  [
    "that is being taken is awaited",
    aCheckpoint({ phase: "Creating", message: "copying" }),
    { kind: "waiting", missing: "the checkpoint is Creating: copying" },
  ],
  ["with an id is taken", aCheckpoint({ phase: "Succeeded", checkpointId: "c1" }), { kind: "satisfied" }],
  ["that succeeded without an id is of no use", aCheckpoint({ phase: "Succeeded" }), { kind: "failed", reason: "NoCheckpointId" }],
  ["with an empty id is of no use", aCheckpoint({ phase: "Succeeded", checkpointId: "" }), { kind: "failed", reason: "NoCheckpointId" }],
  [
    "that failed says why",
    aCheckpoint({ phase: "Failed", message: "disk full" }),
    { kind: "failed", reason: "Failed", message: "the checkpoint failed: disk full" },
  ],
  ["that goes is failed", aCheckpoint({ phase: "Terminating" }), { kind: "failed", reason: "Terminating" }],
  [
    "that is deleted is failed whatever it says",
    aCheckpoint({ phase: "Succeeded", checkpointId: "c1" }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    { kind: "failed", reason: "Terminating" },
  ],
])("a checkpoint %s", ([, checkpoint, verdict]) => {
  expect(checkCheckpointTaken(checkpoint)).toMatchObject(verdict);
});
