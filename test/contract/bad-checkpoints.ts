/** Checkpoints that every API server refuses. */
import { badObjectsOf, smallest } from "./object-corpus.ts";

const bad = badObjectsOf("checkpoint");

export const badCheckpoints = [
  bad.withoutSpec("checkpoint without a spec", ["spec", "FieldValueRequired"]),
  bad.spec("checkpoint of nothing", {}, ["spec.sandboxID", "FieldValueRequired"]),
  bad.spec("checkpoint of a sandbox whose id is empty", { sandboxID: "" }, ["spec.sandboxID", "FieldValueInvalid"]),
  bad.spec("checkpoint of a sandbox whose id no label could hold", { sandboxID: "a b" }, ["spec.sandboxID", "FieldValueInvalid"]),
  bad.spec("checkpoint of a sandbox whose id has 64 characters", { sandboxID: "a".repeat(64) }, ["spec.sandboxID", "FieldValueTooLong"]),
  bad.spec("checkpoint of a sandbox that is a number", { sandboxID: 1 }, ["spec.sandboxID", "FieldValueTypeInvalid"]),
  bad.spec("checkpoint that perhaps keeps running", { ...smallest.checkpoint, keepRunning: "yes" }, [
    "spec.keepRunning",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("checkpoint kept for a day", { ...smallest.checkpoint, ttlAfterFinished: "1d" }, ["spec.ttlAfterFinished", "FieldValueInvalid"]),
  bad.spec("checkpoint with a name in capitals", { ...smallest.checkpoint, alias: "Base" }, ["spec.alias", "FieldValueInvalid"]),
  bad.spec("checkpoint with two tags", { ...smallest.checkpoint, alias: "base:v1:v2" }, ["spec.alias", "FieldValueInvalid"]),
  bad.spec("checkpoint whose command is a text", { ...smallest.checkpoint, config: { cmd: "run" } }, [
    "spec.config.cmd",
    "FieldValueTypeInvalid",
  ]),
  bad.update("checkpoint that changes its sandbox", { from: { sandboxID: "a" }, to: { sandboxID: "b" } }, [
    "spec.sandboxID",
    "FieldValueInvalid",
  ]),
  bad.status("checkpoint in an unknown phase", { phase: "Done" }, ["status.phase", "FieldValueNotSupported"]),
  bad.status("checkpoint of negative size", { sizeBytes: -1 }, ["status.sizeBytes", "FieldValueInvalid"]),
  bad.status("checkpoint that ended at a time without a zone", { completionTime: "2026-01-02T03:04:05" }, [
    "status.completionTime",
    "FieldValueTypeInvalid",
  ]),
];
