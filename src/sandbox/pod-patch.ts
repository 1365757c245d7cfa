/**
 * The form of every change of a pod in its life: one JSON patch that first tests uid and resourceVersion of the pod it was decided
 * on. So each step is one write that happens on exactly that state or not at all. A race that was lost comes back as Invalid
 * without causes (a test that does not hold); an object that breaks a rule has causes, so the two are not confused.
 *
 * A claim that is written elsewhere (model/shown-pod.ts) is taken along: after the write the pod carries all of it itself.
 */
import { storedPod } from "#model/shown-pod.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { labelKeys, type SandboxPhase } from "#model/keys.ts";
import type { JsonPatch, JsonPatchOperation } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";
import { mayFollow } from "./phase.ts";

export interface PodChange {
  readonly phase?: SandboxPhase;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Keys that are not there are no mistake; keys that are also set are set. */
  readonly removeLabels?: readonly string[];
  readonly removeAnnotations?: readonly string[];
  /** Container name to image. */
  readonly images?: Readonly<Record<string, string>>;
}

/** Throws when the change is none that a pod may make: the planners have asked before, so that would be a mistake of theirs. */
export function podPatch(pod: Pod, change: PodChange): JsonPatch {
  const labels = { ...change.labels, ...phaseLabel(pod, change.phase) };
  return {
    type: "json",
    operations: [
      { op: "test", path: "/metadata/uid", value: required(pod, "uid") },
      { op: "test", path: "/metadata/resourceVersion", value: required(pod, "resourceVersion") },
      ...mapOperations(pod, "labels", labels, change.removeLabels ?? []),
      ...mapOperations(pod, "annotations", change.annotations ?? {}, change.removeAnnotations ?? []),
      ...imageOperations(pod, change.images ?? {}),
    ],
  };
}

function phaseLabel(pod: Pod, phase: SandboxPhase | undefined): Readonly<Record<string, string>> {
  if (phase === undefined) return {};
  const current = sandboxPhaseOf(pod);
  if (current === undefined || !mayFollow(current, phase)) {
    throw new Error(`pod ${pod.metadata.name ?? ""} cannot go from phase ${current ?? "none"} to ${phase}`);
  }
  return { [labelKeys.sandboxPhase]: phase };
}

function required(pod: Pod, field: "uid" | "resourceVersion"): string {
  const value = pod.metadata[field];
  if (value === undefined) throw new Error(`pod ${pod.metadata.name ?? ""} has no ${field}: it was not read from a server`);
  return value;
}

type Texts = Readonly<Record<string, string>>;

function mapOperations(pod: Pod, field: "labels" | "annotations", set: Texts, removed: readonly string[]): readonly JsonPatchOperation[] {
  const [path, shown, current] = [`/metadata/${field}`, pod.metadata[field], storedPod(pod).metadata[field]];
  // What is shown on the pod and does not stand there is written now, and what it hides goes.
  const wanted = shown === current ? set : { ...without(shown, removed), ...set };
  const hidden = shown === current ? [] : Object.keys(current ?? {}).filter((key) => !has(shown, key));
  const sets = Object.entries(wanted).filter(([key, value]) => !has(current, key) || current[key] !== value);
  // Nothing can be added below what is not there.
  if (current === undefined) return sets.length === 0 ? [] : [{ op: "add", path, value: Object.fromEntries(sets) }];
  const removes = [...new Set([...removed, ...hidden])].filter((key) => has(current, key) && !has(wanted, key));
  return [
    ...sets.map(([key, value]): JsonPatchOperation => ({ op: "add", path: `${path}/${escapePointer(key)}`, value })),
    ...removes.map((key): JsonPatchOperation => ({ op: "remove", path: `${path}/${escapePointer(key)}` })),
  ];
}

function without(map: Texts | undefined, keys: readonly string[]): Texts {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !keys.includes(key)));
}

/** Keys come from users; `constructor` is one that every object seems to have. */
function has(map: Readonly<Record<string, string>> | undefined, key: string): map is Readonly<Record<string, string>> {
  return map !== undefined && Object.hasOwn(map, key);
}

function imageOperations(pod: Pod, images: Readonly<Record<string, string>>): readonly JsonPatchOperation[] {
  return Object.entries(images).map(([name, value]): JsonPatchOperation => {
    const index = pod.spec.containers.findIndex((container) => container.name === name);
    if (index === -1) throw new Error(`pod ${pod.metadata.name ?? ""} has no container ${name}`);
    return { op: "add", path: `/spec/containers/${index}/image`, value };
  });
}

function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
