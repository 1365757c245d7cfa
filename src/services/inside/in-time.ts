import { abortable, ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { ServiceError } from "../service-error.ts";

export interface TimeLimit {
  readonly clock: Clock;
  readonly ms: number;
  /** What the caller is told when the time is over. */
  readonly late: () => ServiceError;
  /** Ends the work early. */
  readonly signal: AbortSignal;
}

/**
 * Work in a sandbox ends by our own clock. A user of the sandbox may have replaced its daemon or its interpreter, which then keeps no time
 * limit and may never end its answer.
 */
export async function inTime<Result>(
  { clock, ms, late, signal }: TimeLimit,
  work: (until: AbortSignal) => Promise<Result>,
): Promise<Result> {
  using abort = new ChildAbort(signal);
  const timer = clock.after(ms, () => abort.abort(late()));
  try {
    return await abortable(work(abort.signal), abort.signal);
  } catch (error) {
    throw abort.signal.aborted ? abort.signal.reason : error;
  } finally {
    timer.cancel();
  }
}
