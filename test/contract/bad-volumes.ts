/** Volumes that every API server refuses. */
import { badObjectsOf, smallest } from "./object-corpus.ts";

const bad = badObjectsOf("volume");

export const badVolumes = [
  bad.withoutSpec("volume without a spec", ["spec", "FieldValueRequired"]),
  bad.spec("volume without a name", { sizeMiB: 16 }, ["spec.name", "FieldValueRequired"]),
  bad.spec("volume with an empty name", { ...smallest.volume, name: "" }, ["spec.name", "FieldValueInvalid"]),
  bad.spec("volume with a slash in its name", { ...smallest.volume, name: "a/b" }, ["spec.name", "FieldValueInvalid"]),
  bad.spec("volume with a name of 129 characters", { ...smallest.volume, name: "a".repeat(129) }, ["spec.name", "FieldValueTooLong"]),
  bad.spec("volume without a size", { name: "data" }, ["spec.sizeMiB", "FieldValueRequired"]),
  bad.spec("volume of 15 MiB", { ...smallest.volume, sizeMiB: 15 }, ["spec.sizeMiB", "FieldValueInvalid"]),
  bad.spec("volume of more than a tebibyte", { ...smallest.volume, sizeMiB: 1_048_577 }, ["spec.sizeMiB", "FieldValueInvalid"]),
  bad.spec("volume whose size is a quantity", { ...smallest.volume, sizeMiB: "1Gi" }, ["spec.sizeMiB", "FieldValueTypeInvalid"]),
  bad.update("volume that changes its name", { from: { name: "a", sizeMiB: 16 }, to: { name: "b", sizeMiB: 16 } }, [
    "spec.name",
    "FieldValueInvalid",
  ]),
  bad.update("volume that changes its size", { from: { name: "a", sizeMiB: 16 }, to: { name: "a", sizeMiB: 32 } }, [
    "spec.sizeMiB",
    "FieldValueInvalid",
  ]),
  bad.status("volume in an unknown phase", { phase: "Done" }, ["status.phase", "FieldValueNotSupported"]),
];
