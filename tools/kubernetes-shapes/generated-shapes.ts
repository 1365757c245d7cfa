import { printFields } from "./print-fields.ts";
import { printTypes } from "./print-types.ts";
import { readRecord } from "./recorded-shapes.ts";
import { shapeTypes } from "./shape-model.ts";

/** The generated files, by their paths in the repository. */
export function generatedShapes(): Readonly<Record<string, string>> {
  const record = readRecord();
  const types = shapeTypes(record);
  return {
    "src/model/kubernetes.generated.ts": printTypes(types, record.kubernetes),
    "src/engines/embedded/admission/builtin/fields.generated.ts": printFields(types, record.kubernetes),
  };
}
