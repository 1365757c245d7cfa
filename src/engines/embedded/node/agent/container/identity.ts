/** A container's identity: what it was made from, and which attempt it is. A later agent reads it from the container itself. */
import { createHash } from "node:crypto";
import type { ContainerStateOnNode } from "../../pod-runtime.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";

/**
 * What makes a container another one: its name and the text of its image, as the kubelet has it. Two texts with the same
 * digest are two containers, so writing a fresh tag beside a digest restarts it.
 */
export function containerHash({ name, image = "" }: Pick<StoredContainer, "name" | "image">): string {
  return createHash("sha256")
    .update(JSON.stringify([name, image]))
    .digest("hex")
    .slice(0, 16);
}

/**
 * The same for the same attempt, so that an agent which died while making it makes no second one. The hash is in it, so
 * that an attempt which was given up for another image before it ran is not mistaken for its successor.
 */
export function containerId(podUid: string, name: string, attempt: number, hash: string): string {
  return createHash("sha256")
    .update(JSON.stringify([podUid, name, attempt, hash]))
    .digest("hex");
}

/** How a status names a container. */
export function containerReference(id: string): string {
  return `agentbox://${id}`;
}

/** What is written on a container when it is made. */
export interface ContainerNote {
  readonly hash: string;
  /** As the pod wrote it. */
  readonly image: string;
  /** `name@sha256:…`. */
  readonly imageId: string;
  readonly stopSignal: string;
}

const prefix = "agentbox.navix.sh/";

export function noteAnnotations(note: ContainerNote): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(note).map(([key, value]) => [`${prefix}${key}`, String(value)]));
}

export function readNote({ annotations }: Pick<ContainerStateOnNode, "annotations">): ContainerNote {
  const read = (key: keyof ContainerNote): string => annotations[`${prefix}${key}`] ?? "";
  return { hash: read("hash"), image: read("image"), imageId: read("imageId"), stopSignal: read("stopSignal") };
}
