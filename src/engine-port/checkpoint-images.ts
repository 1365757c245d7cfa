/**
 * The part of an engine that keeps the files of a sandbox as an image, and removes such images. It is there where the ability `checkpoint` is.
 *
 * What every engine promises (ADR 79):
 * - K1 `take` leaves a whole image or nothing, also when the process dies; the sandbox goes on in every case, as it was before: running or paused.
 * - K2 An order that was carried out already is answered with the image that is there: taking may be repeated.
 * - K3 The image holds what the sandbox changed, with owners as the sandbox sees them, and nothing that the engine or the control plane put in.
 * - K4 A pod of another team does not get the image, whatever names it.
 */
import type { CheckpointConfig, CheckpointFailure } from "#model/checkpoint.ts";

export interface CheckpointOrder {
  readonly id: string;
  readonly pod: { readonly uid: string; readonly namespace: string; readonly name: string };
  /** The container whose files are kept. */
  readonly container: string;
  /** The image that it runs, with its digest. */
  readonly baseImage: string;
  /** The owner: its limit counts the bytes, and only its pods get the image. Left out: of no team. */
  readonly team?: string | undefined;
  readonly config?: CheckpointConfig | undefined;
}

export interface TakenCheckpoint {
  /** With its digest. */
  readonly image: string;
  /** What it adds to the base, on the disk. */
  readonly sizeBytes: number;
  /** How long the sandbox stood still; 0 when the image was there already. */
  readonly frozenMs: number;
}

export interface CheckpointImages {
  /** Throws CheckpointRefused for what no other try would change. */
  take(order: CheckpointOrder, signal: AbortSignal): Promise<TakenCheckpoint>;
  /** From now on no new container gets the image; what runs from it keeps its files. One that is not there is a success. */
  remove(id: string): Promise<void>;
  /** The ids of all that are kept. */
  list(): Promise<readonly string[]>;
}

/** The checkpoint cannot be taken; the message says why, for its owner. */
export class CheckpointRefused extends Error {
  override readonly name = "CheckpointRefused";
  readonly reason: CheckpointFailure;

  constructor(reason: CheckpointFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
