/** The annotation that says how far the exchange of a pod's images has come. It is the only memory of an exchange: every process reads it there. */
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import type { Frozen } from "#model/frozen.ts";
import { annotationKeys, inplaceUpdatePhases, sandboxPhases } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { choice } from "#model/schema-builders.ts";

const containerStatusSchema = Type.Object({
  imageID: Type.Optional(Type.String()),
  /** The container that is to go: only another id proves that it went, because the new image may be the old one. */
  containerID: Type.Optional(Type.String()),
});

const stableStatusSchema = Type.Object({
  containerID: Type.Optional(Type.String()),
  restartCount: Type.Integer(),
});

const stateSchema = Type.Object({
  phase: choice(inplaceUpdatePhases, "How far it is."),
  /** The first container's target; older writers had only this one. */
  targetImage: Type.Optional(Type.String()),
  /** Container to image, only those that are exchanged. */
  targetImages: Type.Optional(Type.Record(Type.String(), Type.String())),
  targetPodPhase: Type.Optional(choice(sandboxPhases, "Phase of the pod when it is done.")),
  /** When the exchange began; when it was done, once it is. */
  updateTimestamp: Type.Optional(Type.String()),
  /** What ran when the exchange began. */
  lastContainerStatuses: Type.Optional(Type.Record(Type.String(), containerStatusSchema)),
  /** The containers since the sandbox began to run: another container id later is an unrequested restart. */
  stableContainerStatuses: Type.Optional(Type.Record(Type.String(), stableStatusSchema)),
});

/** Compiled: it is asked of every pod that is looked at. */
const stateForm = Compile(stateSchema);

export type InplaceUpdateState = Frozen<Static<typeof stateSchema>>;
export type InplaceUpdateContainerStatus = Frozen<Static<typeof containerStatusSchema>>;
export type StableContainerStatus = Frozen<Static<typeof stableStatusSchema>>;

export type ReadState =
  | { readonly kind: "none" }
  | { readonly kind: "state"; readonly state: InplaceUpdateState }
  /** Written by another program, or by an unknown version. Nothing may be concluded from it. */
  | { readonly kind: "unreadable"; readonly why: string };

export function readInplaceUpdateState(pod: Pod): ReadState {
  const text = pod.metadata.annotations?.[annotationKeys.inplaceUpdateState];
  return text === undefined ? { kind: "none" } : parseInplaceUpdateState(text);
}

export function parseInplaceUpdateState(text: string): Exclude<ReadState, { kind: "none" }> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return unreadable(`it is not JSON: ${(error as Error).message}`);
  }
  if (stateForm.Check(value)) return { kind: "state", state: value };
  const [first] = stateForm.Errors(value);
  const place = first === undefined || first.instancePath === "" ? "it" : first.instancePath.slice(1).replaceAll("/", ".");
  return unreadable(`${place} ${first?.message ?? "has not the form of such a state"}`);
}

export function serializeInplaceUpdateState(state: InplaceUpdateState): string {
  return JSON.stringify(state);
}

/** Container to image of an exchange; empty when nothing is exchanged, and the pod is to be replaced. */
export function targetImagesOf(state: InplaceUpdateState, pod: Pod): Readonly<Record<string, string>> {
  if (state.targetImages !== undefined) return state.targetImages;
  const first = pod.spec.containers[0];
  return state.targetImage === undefined || first === undefined ? {} : { [first.name]: state.targetImage };
}

function unreadable(why: string): { kind: "unreadable"; why: string } {
  return { kind: "unreadable", why: `the annotation ${annotationKeys.inplaceUpdateState} cannot be read: ${why}` };
}
