/** What a build needs of checkpoints: the files of its sandbox at one moment, as an image. */
import type { BuildContext } from "#builds/build-context.ts";
import type { Caller } from "#services/caller.ts";

export interface TakeLayer {
  readonly sandboxId: string;
  /** Written into the image's config. */
  readonly context: BuildContext;
}

export interface TakenLayer {
  readonly image: string;
  readonly checkpoint: string;
}

export interface LayerTaker {
  take(owner: Caller, wanted: TakeLayer, signal: AbortSignal): Promise<TakenLayer>;
  isThere(owner: Caller, checkpoint: string): Promise<boolean>;
  /** A success also where it is gone. */
  remove(owner: Caller, checkpoint: string): Promise<void>;
}
