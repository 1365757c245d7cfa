/**
 * What a caller may put on a sandbox: labels and annotations, which go onto the pod, and metadata, which is kept in one annotation.
 * Keys of AgentBox decide about life, death and ownership, and those of Kubernetes about how pods are run, so callers have neither (W27).
 */
import { isReservedKey } from "#model/keys.ts";

export interface UserMetadata {
  readonly labels?: StringMap | undefined;
  readonly annotations?: StringMap | undefined;
  readonly metadata?: StringMap | undefined;
}

type StringMap = Readonly<Record<string, string>>;

export interface MetadataProblem {
  readonly field: keyof UserMetadata;
  readonly key: string;
  /** A whole sentence that names the key. */
  readonly message: string;
}

/** Keys that pods have before a claim. A caller's value would be lost at recycling, or would replace the pod's. */
export interface TakenKeys {
  readonly labels?: StringMap | undefined;
  readonly annotations?: StringMap | undefined;
}

/** An API server keeps 256 KiB of annotations per object; ours, the template's and the exchange of images need room beside these. */
export const userMetadataLimits = {
  labels: 32,
  annotations: 64,
  annotationBytes: 64 * 1024,
  metadata: 64,
  metadataKeyLength: 256,
  metadataBytes: 32 * 1024,
} as const;

const domain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const nameInKey = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

/** Everything that is wrong, in the order of the fields; empty when all of it may be used. */
export function checkUserMetadata(wanted: UserMetadata, taken: TakenKeys = {}): readonly MetadataProblem[] {
  return [
    ...checkMap("labels", wanted.labels ?? {}, (key, value) => wrongWithLabel(key, value) ?? wrongWithTaken(key, taken.labels)),
    ...checkMap(
      "annotations",
      wanted.annotations ?? {},
      (key, value) => wrongWithKey(key) ?? wrongWithText(value) ?? wrongWithTaken(key, taken.annotations),
    ),
    ...checkSize("annotations", wanted.annotations ?? {}, userMetadataLimits.annotationBytes),
    ...checkMap("metadata", wanted.metadata ?? {}, (key, value) => wrongWithMetadataKey(key) ?? wrongWithText(value)),
    ...checkSize("metadata", wanted.metadata ?? {}, userMetadataLimits.metadataBytes),
  ];
}

function checkMap(
  field: "labels" | "annotations" | "metadata",
  map: StringMap,
  wrongWith: (key: string, value: string) => string | undefined,
): readonly MetadataProblem[] {
  const entries = Object.entries(map);
  const limit = userMetadataLimits[field];
  const problems = entries.slice(0, mostExamined).flatMap(([key, value]) => {
    const wrong = wrongWith(key, value);
    return wrong === undefined ? [] : [{ field, key: shown(key), message: `${field}: the key ${JSON.stringify(shown(key))} ${wrong}` }];
  });
  if (entries.length <= limit) return problems;
  return [...problems, { field, key: "", message: `${field}: ${entries.length} are too many; there may be ${limit}` }];
}

/** Of far too many keys it is enough to know that. */
const mostExamined = 1000;

/** A key may be as long as a request. */
function shown(key: string): string {
  return key.length > longestShown ? `${key.slice(0, longestShown)}…` : key;
}

const longestShown = 300;

function checkSize(field: "annotations" | "metadata", map: StringMap, limit: number): readonly MetadataProblem[] {
  const bytes = Object.entries(map).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  return bytes <= limit ? [] : [{ field, key: "", message: `${field}: keys and values have ${bytes} bytes; there may be ${limit}` }];
}

function wrongWithLabel(key: string, value: string): string | undefined {
  const wrong = wrongWithKey(key);
  if (wrong !== undefined) return wrong;
  if (value.length > 63) return `has a value of ${value.length} characters; a label's value has at most 63`;
  if (labelValue.test(value)) return undefined;
  return `has the value ${JSON.stringify(value)}; a label's value has letters, digits, '-', '_' and '.', and begins and ends with a letter or digit`;
}

function wrongWithKey(key: string): string | undefined {
  const reserved = wrongWithReserved(key);
  if (reserved !== undefined) return reserved;
  const slash = key.indexOf("/");
  const prefix = slash === -1 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  if (prefix !== undefined && (prefix.length > 253 || !domain.test(prefix)))
    return "has a prefix that is no DNS name in lower case of at most 253 characters";
  if (name.length <= 63 && nameInKey.test(name)) return undefined;
  return "must be a name of 1 to 63 letters, digits, '-', '_' and '.' that begins and ends with a letter or digit, optionally with a DNS name and '/' before it";
}

/** Databases and C programs end a text there. */
function wrongWithText(value: string): string | undefined {
  return value.includes("\0") ? "has a NUL character in its value" : undefined;
}

function wrongWithMetadataKey(key: string): string | undefined {
  if (key === "") return "is empty";
  if (key.includes("\0")) return "has a NUL character";
  if (key.length > userMetadataLimits.metadataKeyLength) {
    return `has ${key.length} characters; there may be ${userMetadataLimits.metadataKeyLength}`;
  }
  return isReservedKey(key.toLowerCase()) ? reservedByAgentBox : undefined;
}

const reservedByAgentBox = "is reserved for AgentBox";

function wrongWithReserved(key: string): string | undefined {
  // An API server accepts capitals in the domain of annotation keys; a caller must not use that to imitate one of our keys.
  const lower = key.toLowerCase();
  if (isReservedKey(lower)) return reservedByAgentBox;
  return /(^|\.)(kubernetes|k8s)\.io\//.test(lower) ? "is reserved for Kubernetes" : undefined;
}

function wrongWithTaken(key: string, taken: StringMap | undefined): string | undefined {
  return taken !== undefined && Object.hasOwn(taken, key) ? "is used by the template of this pool" : undefined;
}
