/** No sandbox ends without a reason, and the reason that is told is the true one (I11: the death of the control plane is none). */
import { failureReasons } from "#model/keys.ts";
import type { Judge } from "./judge.ts";
import { type Ledger, type Sandbox, wasAnswered } from "./ledger.ts";

export interface ToldEnd {
  readonly stopReason: string | undefined;
  readonly failureReason: string | undefined;
}

export function checkCause({ judge, ledger }: { readonly judge: Judge; readonly ledger: Ledger }, sandbox: Sandbox, told: ToldEnd): void {
  const why = whyNot(ledger, sandbox, told);
  if (why !== undefined) judge.violate("I11", `${sandbox.id} ended as ${told.stopReason} ${told.failureReason ?? ""}, but ${why}`);
}

function whyNot(ledger: Ledger, sandbox: Sandbox, { stopReason, failureReason }: ToldEnd): string | undefined {
  const isAnswered = wasAnswered(sandbox);
  if (stopReason === "Completed" || stopReason === "Canceled") {
    return sandbox.isEndAsked || !isAnswered ? undefined : "its client had it and did not ask for that";
  }
  if (ledger.wasHit(sandbox.podUid)) return undefined;
  if (failureReason === failureReasons.startupTimeout) return isAnswered ? "its client had been told that it runs" : undefined;
  return whyNotTimed(sandbox, failureReason);
}

function whyNotTimed({ request }: Sandbox, failureReason: string | undefined): string | undefined {
  if (failureReason === failureReasons.idleTimeout) return request?.hasIdleTimeout === true ? undefined : "it has no idle timeout";
  if (failureReason === failureReasons.maxLifetime) return request?.hasLifetime === true ? undefined : "it has no end time";
  return "nothing had happened to its pod";
}
