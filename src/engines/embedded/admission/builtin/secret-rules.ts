import { type Secret, Secrets } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Causes, immutable } from "../causes.ts";
import { shared, withProperties } from "../json.ts";
import type { KindRules } from "../kind-rules.ts";
import { metadataFields, validateMetadata, validateMetadataUpdate } from "../metadata-rules.ts";
import { configKeyMistakes } from "#model/names.ts";
import { builtInMetadata } from "./built-in-metadata.ts";
import { maxDataBytes, validateFrozenData } from "./data-limits.ts";
import { kindShape } from "./kubernetes-shape.ts";
import { readBuiltIn } from "./read-shape.ts";

const metadata = builtInMetadata(Secrets);

const secretShape = kindShape(Secrets);

function asSecret(object: ApiObject): Secret {
  return object;
}

/** `stringData` is for writing only: the server keeps its texts in `data`. */
function foldTexts(object: ApiObject): ApiObject {
  const { data, stringData } = asSecret(object);
  if (stringData === undefined) return object;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString("base64")] as const);
  return withProperties(object, { data: { ...data, ...Object.fromEntries(encoded) }, stringData: undefined });
}

export const secretRules: KindRules = {
  resource: Secrets,

  normalize(object) {
    const { object: read, unknownFields } = readBuiltIn(Secrets, secretShape, object);
    return { object: foldTexts(read), unknownFields };
  },

  prepareForCreate: (object) => object,

  prepareForUpdate(next, current) {
    return withProperties(next, { data: shared(asSecret(next).data, asSecret(current).data) });
  },

  validateCreate(object) {
    const causes = new Causes();
    validateMetadata(metadata, object.metadata, causes);
    validateSecret(asSecret(object), causes);
    return causes.all;
  },

  validateUpdate(nextObject, currentObject) {
    const causes = new Causes();
    const next = asSecret(nextObject);
    const current = asSecret(currentObject);
    validateMetadataUpdate(metadata, next.metadata, current.metadata, causes);
    if (next.type !== current.type) causes.invalid("type", next.type, immutable);
    validateFrozenData(next, current, ["data"], causes);
    if (next.data !== current.data) validateSecret(next, causes);
    return causes.all;
  },

  selectableFields(object) {
    return { ...metadataFields(Secrets, object.metadata), type: asSecret(object).type ?? "" };
  },
};

function validateSecret(secret: Secret, causes: Causes): void {
  const data = secret.data ?? {};
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    causes.invalidEach(`data[${key}]`, key, configKeyMistakes(key));
    bytes += Buffer.byteLength(value, "base64");
  }
  if (bytes > maxDataBytes) causes.tooLong("data", maxDataBytes);
  validateType(secret, data, causes);
}

/** Secrets of some types must have certain keys. */
function validateType(secret: Secret, data: SecretData, causes: Causes): void {
  typeChecks[secret.type ?? ""]?.(data, causes, secret.metadata.annotations ?? {});
}

type SecretData = NonNullable<Secret["data"]>;

type TypeCheck = (data: SecretData, causes: Causes, annotations: Readonly<Record<string, string>>) => void;

const typeChecks: Readonly<Record<string, TypeCheck>> = {
  "kubernetes.io/dockerconfigjson": (data, causes) => validateJson(data, ".dockerconfigjson", causes),
  "kubernetes.io/dockercfg": (data, causes) => validateJson(data, ".dockercfg", causes),
  "kubernetes.io/basic-auth": (data, causes) => {
    if (data["username"] === undefined && data["password"] === undefined) requireKeys(data, ["username", "password"], causes);
  },
  "kubernetes.io/ssh-auth": (data, causes) => {
    if ((data["ssh-privatekey"] ?? "") === "") causes.required("data[ssh-privatekey]");
  },
  "kubernetes.io/tls": (data, causes) => requireKeys(data, ["tls.crt", "tls.key"], causes),
  "kubernetes.io/service-account-token": (_data, causes, annotations) => {
    const key = "kubernetes.io/service-account.name";
    if ((annotations[key] ?? "") === "") causes.required(`metadata.annotations[${key}]`);
  },
};

function requireKeys(data: SecretData, keys: readonly string[], causes: Causes): void {
  for (const key of keys) if (data[key] === undefined) causes.required(`data[${key}]`);
}

function validateJson(data: SecretData, key: string, causes: Causes): void {
  const field = `data[${key}]`;
  const encoded = data[key];
  if (encoded === undefined) {
    causes.required(field);
    return;
  }
  try {
    JSON.parse(Buffer.from(encoded, "base64").toString());
  } catch {
    // The parser's message would quote the secret.
    causes.invalid(field, "<secret contents redacted>", "it must be JSON");
  }
}
