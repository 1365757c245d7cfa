/**
 * Names of layers. A step that is the same as in an earlier build, on layers that are the same, has the same key, and is not run again. Pure.
 */
import { createHash } from "node:crypto";
import type { WireStep } from "./build-step.ts";

/** Changes whenever the same steps would give another result. */
const version = "agentbox-build-v1";

/** `base`: what the build starts from, such as a digest. */
export function baseKey(base: string): string {
  return hashOf([version, "base", base]);
}

export function stepKey(parent: string, { type, args = [], filesHash = "" }: WireStep): string {
  return hashOf([parent, type, ...args, "\0", filesHash]);
}

/** What is tried at the end: a start command that was seen to work on these layers works on them again. */
export function finalKey(parent: string, startCmd: string, readyCmd: string): string {
  return hashOf([parent, "finalize", startCmd, readyCmd]);
}

/** JSON separates the parts, whatever they contain. */
function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
