import type { InitBody } from "#envd-protocol/arming.ts";

/** What the container would run without us, as far as the pod says it. */
export interface OwnProgram {
  /** Behind our own command: the pod's command with its arguments. */
  readonly given: readonly string[];
  /** The image's entrypoint is wanted, which comes when the daemon is armed; `given` are arguments for it. */
  readonly ofImage: boolean;
}

export const noProgram: OwnProgram = { given: [], ofImage: false };

/** The whole of it; empty when there is nothing to run. */
export function programOf({ given, ofImage }: OwnProgram, { imageCommand }: InitBody): readonly string[] {
  if (!ofImage) return given;
  if (imageCommand === undefined) return [];
  return [...imageCommand.entrypoint, ...(given.length > 0 ? given : imageCommand.cmd)];
}
