/** A sandbox whose container was replaced without anybody's wish has lost all that it had in it: it has failed. */
import { releaseSandbox } from "#lifecycle/release-sandbox.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { unexpectedRestart } from "#sandbox/restart.ts";
import { tellFailed } from "./tell-failed.ts";
import type { PodDeps } from "./pod-deps.ts";

export async function endRestarted(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const sandboxId = sandboxIdOf(pod);
  const restart = unexpectedRestart(pod);
  if (restart === undefined || sandboxId === undefined) return;
  const { failureReason, failureMessage, exitCode } = restart;
  const outcome = await releaseSandbox(
    deps,
    pod,
    {
      sandboxId,
      stopReason: "Failed",
      failureReason,
      failureMessage,
      ...(exitCode === undefined ? {} : { exitCode }),
      expectedPhase: "running",
      asSeen: true,
    },
    signal,
  );
  if (outcome.kind !== "released") return;
  deps.log.info({ sandboxId, pod: pod.metadata.name, failureReason, exitCode }, "sandbox failed: its container was restarted");
  tellFailed(deps.events, pod, restart);
}
