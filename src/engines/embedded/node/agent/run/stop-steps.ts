/** Stopping a container: note, hook, signals. */
import type { Action } from "../plan/action.ts";
import { ask } from "../probe/ask.ts";
import type { PodActionDeps, PodAtWork } from "./pod-actions.ts";

export async function beginStop(
  { clock }: PodActionDeps,
  { memory, tell }: PodAtWork,
  action: Extract<Action, { kind: "begin-stop" }>,
): Promise<void> {
  const { id, graceMs, container, why } = action;
  const hasHook = container.lifecycle?.preStop !== undefined && graceMs > 0;
  memory.stops.set(id, { beganAt: clock.now(), graceMs, ...(hasHook ? { preStop: "due" } : {}) });
  tell({ type: "Normal", reason: "Killing", message: why }, container);
}

export async function sendSignal(
  { clock, runtime }: PodActionDeps,
  { memory }: PodAtWork,
  { id, signal }: Extract<Action, { kind: "signal" }>,
): Promise<void> {
  await runtime.signalContainer(id, signal);
  memory.noteStop(id, signal === "SIGKILL" ? { killedAt: clock.now() } : { signalledAt: clock.now() });
}

export async function runPreStop(deps: PodActionDeps, work: PodAtWork, action: Extract<Action, { kind: "pre-stop" }>): Promise<void> {
  const { memory, tell, wake, runtime } = work;
  const { container, id, withinMs } = action;
  memory.noteStop(id, { preStop: "running" });
  const asked = { id, address: runtime?.ip ?? "", container };
  const answer = await ask(deps, asked, container.lifecycle?.preStop ?? {}, { timeoutMs: withinMs, signal: memory.signal });
  if (memory.signal.aborted) return;
  memory.noteStop(id, { preStop: "done" });
  if (!answer.ok) tell({ type: "Warning", reason: "FailedPreStopHook", message: "PreStopHook failed" }, container);
  wake();
}
