/** How a wait for a sandbox that ended without its state is told to callers: one action at a time, and the second is told of the first. */
import { isWaitError, type WaitError } from "#kube/wait/wait-error.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";

export function asWaitFailure(error: unknown): unknown {
  return isWaitError(error) ? ofWait(error) : asServiceError(error);
}

/** The node could not do it now. */
const unavailable: ReadonlySet<string> = new Set(["FreezeFailed", "DeepPauseFailed"]);

function ofWait(error: WaitError): unknown {
  const { detail, message } = error;
  switch (detail.code) {
    case "conflict":
      return new ServiceError("conflict", `${detail.requested} is not possible now: ${detail.existing} of this sandbox is under way`, {
        retryAfterSeconds: 1,
        cause: error,
      });
    case "failed":
      return new ServiceError(unavailable.has(detail.reason) ? "unavailable" : "conflict", message, { cause: error });
    case "gone":
      return new ServiceError("conflict", "the sandbox has ended meanwhile", { cause: error });
    case "not-satisfied": {
      const code = detail.because === "cancelled" ? "canceled" : "timeout";
      return new ServiceError(code, `${detail.action} is asked for and not done yet: ${detail.waitingFor}`, { cause: error });
    }
    case "used":
      return error;
  }
}
