import type { Causes } from "../causes.ts";
import { asRecord } from "../json.ts";
import { dnsLabelMistakes } from "#model/names.ts";
import { parseQuantity } from "#model/quantity.ts";
import { pullPolicies, validateRelativePath } from "./container-validation.ts";
import { downwardFileFields, validateFieldReference } from "./environment-validation.ts";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type {
  DownwardAPIVolumeFile,
  KeyToPath,
  Volume,
  PersistentVolumeClaimTemplate,
  VolumeProjection,
} from "#model/kubernetes.generated.ts";
import { volumeSources } from "./kubernetes-shape.ts";

const hostPathTypes = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/** Returns the names of the volumes that can be mounted: the valid ones. */
export function validateVolumes(spec: StoredPodSpec, causes: Causes): ReadonlySet<string> {
  const usable = new Set<string>();
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    const path = `spec.volumes[${index}]`;
    const before = causes.count;
    validateSources(volume, path, spec, causes);
    const mistakes = dnsLabelMistakes(volume.name);
    if (volume.name === "") causes.required(`${path}.name`);
    else if (mistakes.length > 0) causes.invalidEach(`${path}.name`, volume.name, mistakes);
    else if (usable.has(volume.name)) causes.duplicate(`${path}.name`, volume.name);
    else if (causes.count === before) usable.add(volume.name);
  }
  return usable;
}

function validateSources(volume: Volume, path: string, spec: StoredPodSpec, causes: Causes): void {
  const [chosen, ...others] = volumeSources.filter((source) => asRecord(volume)[source] !== undefined);
  if (chosen !== undefined) checks[chosen]?.(volume, `${path}.${chosen}`, causes, spec);
  for (const other of others) causes.forbidden(`${path}.${other}`, "may not specify more than 1 volume type");
}

type SourceCheck = (volume: Volume, path: string, causes: Causes, spec: StoredPodSpec) => void;

const checks: Readonly<Record<string, SourceCheck>> = {
  emptyDir: ({ emptyDir }, path, causes) => {
    const limit = emptyDir?.sizeLimit;
    if (limit !== undefined && parseQuantity(limit).nanos < 0n) {
      causes.forbidden(`${path}.sizeLimit`, "SizeLimit field must be a valid resource quantity");
    }
  },
  hostPath: ({ hostPath }, path, causes) => {
    if (hostPath?.path === "") causes.required(`${path}.path`);
    else if (hostPath?.path.split("/").includes("..") === true) causes.invalid(`${path}.path`, hostPath.path, "must not contain '..'");
    if (hostPath?.type !== undefined && !hostPathTypes.includes(hostPath.type))
      causes.notSupported(`${path}.type`, hostPath.type, hostPathTypes);
  },
  secret: ({ secret }, path, causes) => {
    if (secret?.secretName === undefined) causes.required(`${path}.secretName`);
    validateFiles(secret, path, causes);
  },
  configMap: ({ configMap }, path, causes) => {
    if (configMap?.name === undefined) causes.required(`${path}.name`);
    validateFiles(configMap, path, causes);
  },
  downwardAPI: ({ downwardAPI }, path, causes) => {
    validateMode(downwardAPI?.defaultMode, `${path}.defaultMode`, causes);
    // The server leaves the index out here.
    for (const file of downwardAPI?.items ?? []) validateDownwardFile(file, path, causes);
  },
  persistentVolumeClaim: ({ persistentVolumeClaim }, path, causes) => {
    if (persistentVolumeClaim?.claimName === "") causes.required(`${path}.claimName`);
  },
  image: ({ image }, path, causes) => {
    if (image?.reference === undefined) causes.required(`${path}.reference`);
    if (image?.pullPolicy !== undefined && !pullPolicies.includes(image.pullPolicy)) {
      causes.notSupported(`${path}.pullPolicy`, image.pullPolicy, pullPolicies);
    }
  },
  csi: ({ csi }, path, causes) => {
    if (csi?.driver === "") causes.required(`${path}.driver`);
  },
  nfs: ({ nfs }, path, causes) => {
    if (nfs?.server === "") causes.required(`${path}.server`);
    if (nfs?.path === "") causes.required(`${path}.path`);
    if (nfs?.path.startsWith("/") === false) causes.invalid(`${path}.path`, nfs.path, "must be an absolute path");
  },
  ephemeral: ({ ephemeral }, path, causes) => validateClaimTemplate(ephemeral?.volumeClaimTemplate, `${path}.volumeClaimTemplate`, causes),
  projected: ({ projected }, path, causes, spec) => {
    validateMode(projected?.defaultMode, `${path}.defaultMode`, causes);
    const files = new Set<string>();
    for (const [index, source] of (projected?.sources ?? []).entries()) {
      validateProjection(source, `${path}.sources[${index}]`, spec, causes);
      for (const [name, file] of projectedFiles(source)) {
        if (file !== "" && files.has(file)) causes.invalid(path, name, "conflicting duplicate paths");
        files.add(file);
      }
    }
  },
};

/** The files that a source puts into a volume, each with the name of the object it comes from. */
function projectedFiles({ secret, configMap }: VolumeProjection): readonly (readonly [name: string, file: string])[] {
  return [secret, configMap].flatMap((object) => (object?.items ?? []).map(({ path }) => [object?.name ?? "", path] as const));
}

function validateClaimTemplate(template: PersistentVolumeClaimTemplate | undefined, path: string, causes: Causes): void {
  if (template === undefined) {
    causes.required(path);
    return;
  }
  const { accessModes, resources } = template.spec;
  if (accessModes === undefined) causes.required(`${path}.spec.accessModes`, "at least 1 access mode is required");
  if (resources?.requests?.["storage"] === undefined) causes.required(`${path}.spec.resources[storage]`);
}

/** The fields that secrets and config maps share, as volumes and as sources of projected volumes. */
interface Files {
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
}

function validateFiles(files: Files | undefined, path: string, causes: Causes): void {
  validateMode(files?.defaultMode, `${path}.defaultMode`, causes);
  for (const [index, item] of (files?.items ?? []).entries()) validateFile(item, `${path}.items[${index}]`, causes);
}

function validateFile({ key, path, mode }: KeyToPath, at: string, causes: Causes): void {
  if (key === "") causes.required(`${at}.key`);
  if (path === "") causes.required(`${at}.path`);
  validateRelativePath(path, `${at}.path`, causes);
  validateMode(mode, `${at}.mode`, causes);
}

function validateDownwardFile(file: DownwardAPIVolumeFile, path: string, causes: Causes): void {
  if (file.path === "") causes.required(`${path}.path`);
  validateRelativePath(file.path, `${path}.path`, causes);
  if (file.fieldRef !== undefined) {
    validateFieldReference(file.fieldRef, downwardFileFields, `${path}.fieldRef`, causes);
    if (file.resourceFieldRef !== undefined) {
      causes.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    }
  } else if (file.resourceFieldRef === undefined) causes.required(path, "one of fieldRef and resourceFieldRef is required");
  validateMode(file.mode, `${path}.mode`, causes);
}

function validateProjection(source: VolumeProjection, path: string, spec: StoredPodSpec, causes: Causes): void {
  const { secret, configMap, serviceAccountToken } = source;
  for (const [name, files] of Object.entries({ secret, configMap })) {
    if (files === undefined) continue;
    if (files.name === undefined) causes.required(`${path}.${name}.name`);
    validateFiles(files, `${path}.${name}`, causes);
  }
  if (serviceAccountToken !== undefined) {
    const field = `${path}.serviceAccountToken`;
    const { expirationSeconds } = serviceAccountToken;
    if (expirationSeconds !== undefined && expirationSeconds < 600) {
      causes.invalid(`${field}.expirationSeconds`, expirationSeconds, "may not specify a duration less than 10 minutes");
    }
    if (serviceAccountToken.path === "") causes.required(`${path.replace(/\.sources\[\d+\]$/, "")}.path`);
    if (spec.serviceAccountName === undefined) causes.forbidden(field, "must not be specified when serviceAccountName is not set");
  }
  if (Object.keys(source).length > 1) causes.forbidden(path, "may not specify more than 1 volume type per source");
}

function validateMode(mode: number | undefined, field: string, causes: Causes): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    causes.invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive");
  }
}
