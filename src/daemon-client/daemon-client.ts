/**
 * The port to the daemon inside a sandbox, at its pod's address: which sandbox it works for, and the signed orders that arm and retire it.
 * The daemon is always asked directly, because a pod's status is older than its answer.
 */
import type { InitBody, RetireSubject } from "#envd-protocol/arming.ts";

export interface DaemonClient {
  /** Throws DaemonError. */
  health(at: DaemonAddress, options?: DaemonCallOptions): Promise<DaemonHealth>;
  /** Arms the daemon of this very boot for the sandbox. Repeating the same order is a success. Throws DaemonError. */
  init(at: DaemonAddress, order: InitOrder, options?: DaemonCallOptions): Promise<void>;
  /** Ends all processes of the sandbox; from then on its daemon works for no sandbox. Repeating it is a success. Throws DaemonError. */
  retire(at: DaemonAddress, order: RetireOrder, options?: DaemonCallOptions): Promise<void>;
}

export interface DaemonAddress {
  readonly ip: string;
  readonly port: number;
}

export interface DaemonCallOptions {
  readonly signal?: AbortSignal;
}

export interface DaemonHealth {
  readonly podUid: string;
  /** Another one for every start of the container. */
  readonly bootId: string;
  /** The sandbox that it is armed for; undefined: for none. */
  readonly sandboxId?: string;
}

export interface InitOrder {
  readonly podUid: string;
  readonly bootId: string;
  readonly sandboxId: string;
  readonly body: InitBody;
}

export type RetireOrder = RetireSubject;

/**
 * unreachable: no answer; worth another try.
 * other-boot: the daemon is not the one that the order was signed for; ask for its health again.
 * taken: it is armed for another sandbox.
 * refused: anything else that it said; trying again does not help.
 */
export type DaemonFailure = "unreachable" | "other-boot" | "taken" | "refused";

export class DaemonError extends Error {
  override readonly name = "DaemonError";
  readonly failure: DaemonFailure;

  constructor(failure: DaemonFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}
