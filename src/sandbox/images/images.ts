/** Which image each container of a pool waits on, and which it runs for a request. How they are written is in `image-pin.ts`. */
import type { Container, Pod } from "#model/pod.ts";
import { digestIn, pinImage } from "./image-pin.ts";
import type { PoolTemplate } from "#sandbox/pools/resolve-template.ts";

/** Container name to image. */
export type ContainerImages = Readonly<Record<string, string>>;

/** An image and the digest found for it. */
export interface TargetImage {
  readonly image: string;
  readonly digest: string;
}

/** Container name to image. */
export type TargetImages = Readonly<Record<string, TargetImage>>;

/** What sandboxes run unless their request says otherwise. Containers that the template gives no image are left out. */
export function runContainerImages({ template }: PoolTemplate): ContainerImages {
  return imagesOf(template?.spec?.containers ?? []);
}

/**
 * What an idle pod runs: with PoolDefaultImage the run images, so that every claim for them is on the fast path; with IdleImage the
 * idle image in the first container. Pods are created on these and recycled to these (W28).
 */
export function idleContainerImages(template: PoolTemplate): ContainerImages {
  const images = runContainerImages(template);
  const first = template.template?.spec?.containers[0];
  const { idleImage } = template;
  if (first === undefined || idleImage === undefined || template.podCreationImagePolicy === "PoolDefaultImage") return images;
  return { ...images, [first.name]: idleImage };
}

/** Every image whose digest must be known before the pool can create and offer pods. */
export function imagesToResolve(template: PoolTemplate): readonly string[] {
  const images = [runContainerImages(template), idleContainerImages(template), imagesOf(template.template?.spec?.initContainers ?? [])];
  return [...new Set(images.flatMap((map) => Object.values(map)))];
}

export interface ImageWishes {
  /** For the first container. */
  readonly image?: string | undefined;
  /** Container name to image. Goes before `image`. */
  readonly containerImages?: ContainerImages | undefined;
}

export type RequestedImages =
  | { readonly kind: "images"; readonly images: ContainerImages }
  | { readonly kind: "refused"; readonly code: ImageRefusal; readonly message: string };

export type ImageRefusal = "no-containers" | "container-not-found" | "target-image-required";

/** What a request wants each container to run. */
export function requestedImages(template: PoolTemplate, wishes: ImageWishes): RequestedImages {
  const names = (template.template?.spec?.containers ?? []).map(({ name }) => name);
  const first = names[0];
  if (first === undefined) return refused("no-containers", "the pool's template has no containers");
  const named = wishes.containerImages ?? {};
  const unknown = Object.keys(named).find((name) => !names.includes(name));
  if (unknown !== undefined) return refused("container-not-found", `there is no container "${unknown}"; there are ${names.join(", ")}`);
  const wished: ContainerImages = { ...(wishes.image === undefined ? {} : { [first]: wishes.image }), ...named };
  const images = { ...runContainerImages(template), ...wished };
  const without = names.find((name) => !Object.hasOwn(images, name) || images[name]?.trim() === "");
  if (without !== undefined) return refused("target-image-required", `container "${without}" has no image to run`);
  return { kind: "images", images };
}

/** Images without an answer from their registry so far. */
export interface Unresolved {
  readonly kind: "unresolved";
  readonly missing: readonly string[];
}

export type ResolvedTargets = { readonly kind: "targets"; readonly targets: TargetImages } | Unresolved;

/** Every image with its digest, out of a table from image to digest. A reference that carries its digest needs no table. */
export function targetsOf(images: ContainerImages, digests: Readonly<Record<string, string>>): ResolvedTargets {
  const digestOf = (image: string): string | undefined => (Object.hasOwn(digests, image) ? digests[image] : digestIn(image));
  const missing = [...new Set(Object.values(images))].filter((image) => digestOf(image) === undefined);
  if (missing.length > 0) return { kind: "unresolved", missing };
  const entries = Object.entries(images).map(([name, image]) => [name, { image, digest: digestOf(image) ?? "" }] as const);
  return { kind: "targets", targets: Object.fromEntries(entries) };
}

export function pinTargets(targets: TargetImages, use: number | undefined): ContainerImages {
  return Object.fromEntries(Object.entries(targets).map(([name, { image, digest }]) => [name, pinImage(image, digest, use)]));
}

/** Those of the targets that the pod does not run already: what a claim must exchange. None: the claim is on the fast path. */
export function differingTargets(pod: Pod, targets: TargetImages): TargetImages {
  const current = new Map(pod.spec.containers.map(({ name, image }) => [name, digestIn(image)]));
  return Object.fromEntries(Object.entries(targets).filter(([name, { digest }]) => current.get(name) !== digest));
}

function imagesOf(containers: readonly Container[]): ContainerImages {
  return Object.fromEntries(containers.flatMap(({ name, image }) => (image === undefined || image === "" ? [] : [[name, image]])));
}

function refused(code: ImageRefusal, message: string): RequestedImages {
  return { kind: "refused", code, message };
}
