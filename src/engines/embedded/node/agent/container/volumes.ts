/** The volumes of a container as the runtime mounts them: folders of the pod, and files that are written here. */
import { parseQuantity } from "#model/quantity.ts";
import type { ContainerMount, ProjectedFile } from "../../pod-runtime.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { DownwardAPIVolumeFile, KeyToPath, Volume, VolumeMount, VolumeProjection } from "#model/kubernetes.generated.ts";
import type { NodePod } from "../node-pod.ts";
import { downwardContent, type PodFacts } from "./field-value.ts";
import { RenderError } from "./render-error.ts";
import { projections, type Sources } from "./sources.ts";

const unitNanos = 1_000_000_000n;

export function containerMounts(facts: PodFacts, container: StoredContainer, sources: Sources): readonly ContainerMount[] {
  return (container.volumeMounts ?? []).map((mount) => {
    const volume = facts.pod.spec.volumes?.find(({ name }) => name === mount.name);
    if (volume === undefined) throw new RenderError("volume", `the pod has no volume "${mount.name}" to mount at ${mount.mountPath}`);
    return volume.emptyDir === undefined
      ? filesMount({ facts, container, sources }, volume, mount)
      : folderMount(facts.pod, volume.emptyDir, mount);
  });
}

function folderMount({ spec }: NodePod, emptyDir: NonNullable<Volume["emptyDir"]>, mount: VolumeMount): ContainerMount {
  return {
    kind: "emptyDir",
    name: mount.name,
    path: mount.mountPath,
    readOnly: mount.readOnly === true,
    memory: emptyDir.medium === "Memory",
    ...(emptyDir.sizeLimit === undefined ? {} : { sizeBytes: Number(parseQuantity(emptyDir.sizeLimit).nanos / unitNanos) }),
    ...ownerOf(spec.securityContext.fsGroup),
  };
}

function ownerOf(group: number | undefined): { readonly group?: number } {
  return group === undefined ? {} : { group };
}

interface Rendering {
  readonly facts: PodFacts;
  readonly container: StoredContainer;
  readonly sources: Sources;
}

function filesMount(rendering: Rendering, volume: Volume, { name, mountPath }: VolumeMount): ContainerMount {
  const { fsGroup } = rendering.facts.pod.spec.securityContext;
  const defaultMode =
    [volume.configMap, volume.secret, volume.downwardAPI, volume.projected].find((one) => one !== undefined)?.defaultMode ?? 0o644;
  // What a group owns it must be able to read.
  const modeOf = (mode: number | undefined): number => (mode ?? defaultMode) | (fsGroup === undefined ? 0 : 0o040);
  const files = new Map<string, ProjectedFile>();
  for (const source of projections(volume)) {
    for (const { path, content, mode } of sourceFiles(rendering, source, name)) {
      files.set(safePath(path, name), { path, content, mode: modeOf(mode) });
    }
  }
  return { kind: "files", name, path: mountPath, files: [...files.values()], ...ownerOf(fsGroup) };
}

/** The server checks paths; a mistake here would write outside the volume. */
function safePath(path: string, volume: string): string {
  if (path.startsWith("/") || path.split("/").some((part) => part === ".." || part === "")) {
    throw new RenderError("volume", `"${path}" is not a path inside the volume "${volume}"`);
  }
  return path;
}

interface SourceFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number | undefined;
}

function sourceFiles({ facts, container, sources }: Rendering, source: VolumeProjection, volume: string): readonly SourceFile[] {
  if (source.configMap !== undefined) {
    const object = sources.configMaps.get(source.configMap.name ?? "");
    const data = object && { ...mapValues(object.data, (text) => Buffer.from(text)), ...mapValues(object.binaryData, fromBase64) };
    return objectFiles({ kind: "configmap", volume, ...source.configMap }, data);
  }
  if (source.secret !== undefined) {
    const object = sources.secrets.get(source.secret.name ?? "");
    return objectFiles({ kind: "secret", volume, ...source.secret }, object && mapValues(object.data, fromBase64));
  }
  return (source.downwardAPI?.items ?? []).map((item: DownwardAPIVolumeFile) => ({
    path: item.path,
    content: Buffer.from(downwardContent(facts, container, item)),
    mode: item.mode,
  }));
}

function fromBase64(text: string): Buffer {
  return Buffer.from(text, "base64");
}

function mapValues(data: Readonly<Record<string, string>> = {}, read: (text: string) => Buffer): Readonly<Record<string, Buffer>> {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, read(value)]));
}

interface ObjectVolume {
  readonly kind: string;
  readonly volume: string;
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

function objectFiles(source: ObjectVolume, data: Readonly<Record<string, Buffer>> | undefined): readonly SourceFile[] {
  const { kind, volume, name = "", items = [], optional = false } = source;
  const refuse = (problem: string): RenderError =>
    new RenderError("volume", `MountVolume.SetUp failed for volume "${volume}" : ${problem}`);
  if (data === undefined && !optional) throw refuse(`${kind} "${name}" not found`);
  if (items.length === 0) return Object.entries(data ?? {}).map(([path, content]) => ({ path, content, mode: undefined }));
  return items.flatMap(({ key, path, mode }) => {
    const content = data?.[key];
    if (content === undefined && !optional) throw refuse(`${kind} "${name}" has no key "${key}"`);
    return content === undefined ? [] : [{ path, content, mode }];
  });
}
