import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Causes } from "../causes.ts";
import { shared, withProperties } from "../json.ts";
import type { KindRules } from "../kind-rules.ts";
import { metadataFields, validateMetadata, validateMetadataUpdate } from "../metadata-rules.ts";
import { configKeyMistakes } from "#model/names.ts";
import { builtInMetadata } from "./built-in-metadata.ts";
import { maxDataBytes, validateFrozenData } from "./data-limits.ts";
import { kindShape } from "./kubernetes-shape.ts";
import { readBuiltIn } from "./read-shape.ts";

const metadata = builtInMetadata(ConfigMaps);

const configMapShape = kindShape(ConfigMaps);

function asConfigMap(object: ApiObject): ConfigMap {
  return object;
}

export const configMapRules: KindRules = {
  resource: ConfigMaps,

  normalize: (object) => readBuiltIn(ConfigMaps, configMapShape, object),

  prepareForCreate: (object) => object,

  prepareForUpdate(next, current) {
    return withProperties(next, {
      data: shared(asConfigMap(next).data, asConfigMap(current).data),
      binaryData: shared(asConfigMap(next).binaryData, asConfigMap(current).binaryData),
    });
  },

  validateCreate(object) {
    const causes = new Causes();
    validateMetadata(metadata, object.metadata, causes);
    validateData(asConfigMap(object), causes);
    return causes.all;
  },

  validateUpdate(nextObject, currentObject) {
    const causes = new Causes();
    const next = asConfigMap(nextObject);
    const current = asConfigMap(currentObject);
    validateMetadataUpdate(metadata, next.metadata, current.metadata, causes);
    validateFrozenData(next, current, ["data", "binaryData"], causes);
    if (next.data !== current.data || next.binaryData !== current.binaryData) validateData(next, causes);
    return causes.all;
  },

  selectableFields: (object) => metadataFields(ConfigMaps, object.metadata),
};

function validateData({ data = {}, binaryData = {} }: ConfigMap, causes: Causes): void {
  let bytes = 0;
  for (const [key, text] of Object.entries(data)) {
    const field = `data[${key}]`;
    causes.invalidEach(field, key, configKeyMistakes(key));
    if (Object.hasOwn(binaryData, key)) causes.invalid(field, key, "duplicate of key present in binaryData");
    bytes += Buffer.byteLength(text);
  }
  for (const [key, encoded] of Object.entries(binaryData)) {
    causes.invalidEach(`binaryData[${key}]`, key, configKeyMistakes(key));
    bytes += Buffer.byteLength(encoded, "base64");
  }
  // The server names all the data together like this.
  if (bytes > maxDataBytes) causes.tooLong("[]", maxDataBytes);
}
