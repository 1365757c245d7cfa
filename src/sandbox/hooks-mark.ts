/**
 * The mark of a sandbox whose post-start hooks have not all run: JSON in annotationKeys.postStartHooks. The claim writes it and the process that has
 * run the last hook removes it. It holds the hooks themselves, sealed, so that another process can run them when the first one dies (ADR 70).
 */
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

export interface HooksMark {
  /** How many hooks there are. */
  readonly pending: number;
  /** The hooks, readable only with the control plane's key. Left out: they were too long to be written, and end with their process. */
  readonly sealed?: string;
  /** RFC 3339: when another process took over. */
  readonly takenAt?: string;
}

/** A maker has its own deadline, and removes the mark or ends the sandbox before so much more time has passed. */
export const hooksGraceMs = 15_000;

export function formatHooksMark({ pending, sealed, takenAt }: HooksMark): string {
  return JSON.stringify({ pending, ...(sealed === undefined ? {} : { sealed }), ...(takenAt === undefined ? {} : { takenAt }) });
}

export function areHooksPending(pod: Pod): boolean {
  return pod.metadata.annotations?.[annotationKeys.postStartHooks] !== undefined;
}

/** Undefined where no hooks are pending. A mark that cannot be read is one without hooks in it. */
export function hooksMarkOf(pod: Pod): HooksMark | undefined {
  const text = pod.metadata.annotations?.[annotationKeys.postStartHooks];
  return text === undefined ? undefined : (parsed(text) ?? { pending: 1 });
}

function parsed(text: string): HooksMark | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { pending, sealed, takenAt } = value as Record<string, unknown>;
    return {
      pending: typeof pending === "number" ? pending : 1,
      ...(typeof sealed === "string" ? { sealed } : {}),
      ...(typeof takenAt === "string" ? { takenAt } : {}),
    };
  } catch {
    return undefined;
  }
}
