/**
 * Decides what happens to a pod after a use. An exchange gives every container a new writable layer and ends all its processes. Anything of the last user
 * that could outlive it means that the pod must be deleted (I2, W26): volumes the user could write to, processes outside the exchanged containers,
 * containers that are not exchanged.
 */
import { annotationKeys, type RecyclePolicy, recyclePolicies } from "#model/keys.ts";
import type { Container, Pod, Volume } from "#model/pod.ts";
import { volumeWish } from "#model/volume-mounts.ts";
import { parseCount } from "#sandbox/annotation-values.ts";
import { useCountOf } from "#sandbox/claimable.ts";
import { hasPlainImages } from "#sandbox/images/image-form.ts";
import { type ContainerImages, pinTargets, type TargetImages } from "#sandbox/images/images.ts";

export type Fate =
  /** The images to go back to, written for the next use. */
  { readonly kind: "recycle"; readonly images: ContainerImages } | { readonly kind: "delete"; readonly reasons: readonly string[] };

export interface RecyclingOptions {
  /** What the pool's idle pods run, as far as digests are known. */
  readonly waiting: TargetImages;
  /** After so many uses a pod is replaced; its template may say another number. */
  readonly maxUses: number;
  /** Of the pool as it is now: a pod of an older one is replaced. Left out: not looked at. */
  readonly templateHash?: string;
}

/** Volume sources that no container can change, whatever the mount says. */
const readOnlySources: ReadonlySet<string> = new Set(["configMap", "secret", "downwardAPI", "projected", "image"]);

export function fateAfterUse(pod: Pod, options: RecyclingOptions): Fate {
  const reasons = [...whyWornOut(pod, options), ...whyNotCleanable(pod, options.waiting)];
  if (reasons.length > 0) return { kind: "delete", reasons };
  const exchanged = pod.spec.containers.flatMap(({ name }) => {
    const target = targetOf(options.waiting, name);
    return target === undefined ? [] : [[name, target] as const];
  });
  return { kind: "recycle", images: pinTargets(Object.fromEntries(exchanged), nextUse(pod)) };
}

/** The use that the pod is recycled for. Its number makes the texts of the waiting images new ones. */
export function nextUse(pod: Pod): number {
  return (useCountOf(pod) ?? 0) + 1;
}

/** What no policy of a template can overrule. */
function whyWornOut(pod: Pod, { waiting, maxUses, templateHash }: RecyclingOptions): readonly string[] {
  const first = pod.spec.containers[0]?.name ?? "";
  const isOutdated = templateHash !== undefined && pod.metadata.annotations?.[annotationKeys.templateHash] !== templateHash;
  return [
    ...whyEnded(pod),
    ...whyUsedUp(pod, maxUses),
    ...(volumeWish(pod) === undefined ? [] : ["its sandbox had volumes mounted"]),
    ...(policyOf(pod) === "Never" ? ["the template wants a new pod for every sandbox"] : []),
    ...(isOutdated ? ["the template has changed"] : []),
    ...(hasPlainImages(pod) ? ["its container runtime takes no tag beside a digest, without which an exchange is put off"] : []),
    ...(targetOf(waiting, first) === undefined ? ["the digest of the waiting image is not known"] : []),
  ];
}

function whyEnded({ metadata, status }: Pod): readonly string[] {
  if (metadata.deletionTimestamp !== undefined) return ["the pod is being deleted"];
  const { phase, reason } = status ?? {};
  return phase === "Failed" || phase === "Succeeded" ? [`the pod has ended: ${reason ?? phase}`] : [];
}

function whyUsedUp(pod: Pod, maxUses: number): readonly string[] {
  const uses = useCountOf(pod);
  if (uses === undefined) return [`the annotation ${annotationKeys.useCount} is not a number`];
  const limit = parseCount(pod.metadata.annotations?.[annotationKeys.maxUses]) ?? maxUses;
  return uses + 1 >= limit ? [`the pod has carried ${uses + 1} sandboxes`] : [];
}

function whyNotCleanable(pod: Pod, waiting: TargetImages): readonly string[] {
  if (policyOf(pod) === "Always") return [];
  const { containers, shareProcessNamespace } = pod.spec;
  return [
    ...(shareProcessNamespace === true ? ["processes outlive their container: shareProcessNamespace is set"] : []),
    ...writableVolumes(pod).map((name) => `volume ${name} can be written to`),
    ...containers.filter(({ name }) => targetOf(waiting, name) === undefined).map(({ name }) => `container ${name} would go on running`),
    ...sideContainers(pod).map((name) => `container ${name} would go on running`),
  ];
}

function policyOf(pod: Pod): RecyclePolicy {
  const text = pod.metadata.annotations?.[annotationKeys.recyclePolicy];
  return recyclePolicies.find((policy) => policy === text) ?? "Auto";
}

/** Init containers that keep running, and ephemeral containers added for debugging: neither is exchanged. */
function sideContainers({ spec }: Pod): readonly string[] {
  const restartable = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  return [...restartable, ...(spec.ephemeralContainers ?? [])].map(({ name }) => name);
}

function writableVolumes({ spec }: Pod): readonly string[] {
  return (spec.volumes ?? [])
    .filter((volume) => !isReadOnly(volume) && isMountedWritable(spec.containers, volume.name))
    .map(({ name }) => name);
}

function isReadOnly(volume: Volume): boolean {
  return Object.entries(volume).some(([source, value]) => readOnlySources.has(source) || (source !== "name" && saysReadOnly(value)));
}

function saysReadOnly(source: unknown): boolean {
  return typeof source === "object" && source !== null && "readOnly" in source && source.readOnly === true;
}

/** Init containers have ended before any user had the pod, and a mount cannot make block devices read-only. */
function isMountedWritable(containers: readonly Container[], volume: string): boolean {
  return containers.some(({ volumeMounts = [], volumeDevices }) => {
    const devices = Array.isArray(volumeDevices) ? (volumeDevices as readonly { readonly name?: unknown }[]) : [];
    return volumeMounts.some(({ name, readOnly }) => name === volume && readOnly !== true) || devices.some(({ name }) => name === volume);
  });
}

function targetOf(targets: TargetImages, name: string): TargetImages[string] | undefined {
  return Object.hasOwn(targets, name) ? targets[name] : undefined;
}
