import type { InitBody } from "#envd-protocol/arming.ts";

/** The program that the container would run without the daemon, as far as the pod's definition says. */
export interface OwnProgram {
  /** The arguments after our own command: the pod's command with its arguments. */
  readonly given: readonly string[];
  /** Run the image's entrypoint, which is known when the daemon is armed; `given` are its arguments. */
  readonly ofImage: boolean;
}

export const noProgram: OwnProgram = { given: [], ofImage: false };

/** The whole command; empty if there is nothing to run. */
export function programOf({ given, ofImage }: OwnProgram, { imageCommand }: InitBody): readonly string[] {
  if (!ofImage) return given;
  if (imageCommand === undefined) return [];
  return [...imageCommand.entrypoint, ...(given.length > 0 ? given : imageCommand.cmd)];
}
