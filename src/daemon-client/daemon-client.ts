/**
 * Port to the daemon in a sandbox, at its pod's address: asks which sandbox it serves, and sends the signed orders that arm and retire it. The daemon is
 * always asked directly, because a pod's status may be older than the daemon's answer.
 */
import type { InitBody, RetireSubject } from "#envd-protocol/arming.ts";

export interface DaemonClient {
  /** Throws DaemonError. */
  health(at: DaemonAddress, options?: DaemonCallOptions): Promise<DaemonHealth>;
  /** Arms the daemon, for exactly this boot, with the sandbox. Repeating the same order succeeds. Throws DaemonError. */
  init(at: DaemonAddress, order: InitOrder, options?: DaemonCallOptions): Promise<void>;
  /** Ends all processes of the sandbox; afterwards its daemon serves no sandbox. Repeating it succeeds. Throws DaemonError. */
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
  /** A new id for every start of the container. */
  readonly bootId: string;
  /** The sandbox that it is armed for; undefined if it is not armed. */
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
 * unreachable: no answer; try again.
 * other-boot: the container was restarted since the order was signed; ask for its health again.
 * taken: it is armed for another sandbox.
 * refused: any other refusal; retrying does not help.
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
