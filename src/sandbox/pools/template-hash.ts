/** Tells pods of the present template from pods of an earlier one. */
import { createHash } from "node:crypto";
import type { PodBlueprint } from "#sandbox/pods/pod-blueprint.ts";

/**
 * Over everything that an idle pod would be made of, and nothing else: a new description, another version number or, where pods wait
 * on an idle image, another run image leave it as it is, so that no pod is replaced for it. Digests are not part of it either; pods
 * come to a new one when they are recycled.
 */
export function templateHash({ labels, annotations, spec, daemonImage }: PodBlueprint): string {
  return createHash("sha256").update(stableJson({ labels, annotations, spec, daemonImage })).digest("hex").slice(0, 16);
}

/** JSON with the keys of every object in order: servers and merges may order them as they like. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}
