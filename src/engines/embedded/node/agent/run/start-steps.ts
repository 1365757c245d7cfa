/** Making and starting a container, and the hook after it. */
import type { ContainerPlan } from "../../pod-runtime.ts";
import { containerHash } from "../container/identity.ts";
import { renderContainer } from "../container/render-container.ts";
import { RenderError } from "../container/render-error.ts";
import { readSources } from "../container/sources.ts";
import type { CreateAction } from "../plan/action.ts";
import type { CreateFailure } from "../plan/observed.ts";
import { afterRestart } from "../plan/restart-backoff.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import { ask } from "../probe/ask.ts";
import type { PodActionDeps, PodAtWork } from "./pod-actions.ts";
import { messageOf, oneMore } from "./retry-delay.ts";

const createPace = { firstMs: 1_000, maxMs: 30_000 };

interface Made {
  readonly container: StoredContainer;
  readonly id: string;
}

export async function createContainer(deps: PodActionDeps, work: PodAtWork, action: CreateAction, signal: AbortSignal): Promise<void> {
  const { memory, tell } = work;
  const { container, id, previousEndedAt } = action;
  try {
    await deps.runtime.createContainer(await render(deps, work, action, signal));
  } catch (error) {
    signal.throwIfAborted();
    noteCreateFailure(deps, work, action, error);
    return;
  }
  memory.createFailures.delete(container.name);
  memory.pulls.delete(container.name);
  tell({ type: "Normal", reason: "Created", message: "Container created" }, container);
  if (previousEndedAt !== undefined) {
    const hash = containerHash(container);
    memory.backoffs.set(hash, afterRestart(memory.backoffs.get(hash), previousEndedAt, deps.clock.now()));
  }
  await startContainer(deps, work, { container, id });
}

async function render(deps: PodActionDeps, { pod, runtime }: PodAtWork, action: CreateAction, signal: AbortSignal): Promise<ContainerPlan> {
  const { container, id, attempt, image } = action;
  const sources = await readSources(deps.client, pod, container, signal);
  const facts = { pod, podIP: runtime?.ip ?? "", hostIP: deps.node.hostIP, capacity: deps.capacity };
  const { controlPlaneKey } = deps;
  const plan = renderContainer({ facts, container, id, attempt, image, sources, logFile: "", controlPlaneKey });
  return { ...plan, logFile: deps.logs.prepare(pod.metadata, container.name, attempt) };
}

function noteCreateFailure(
  { clock, numbers }: PodActionDeps,
  { memory, tell }: PodAtWork,
  { container, id }: CreateAction,
  error: unknown,
): void {
  numbers.containerStart("create_failed");
  const message = messageOf(error);
  const about = error instanceof RenderError ? error.about : "runtime";
  const reason = ({ volume: "ContainerCreating", config: "CreateContainerConfigError", runtime: "CreateContainerError" } as const)[about];
  const before = memory.createFailures.get(container.name);
  const failure: CreateFailure = { id, reason, ...oneMore(createPace, before?.id === id ? before : undefined, message, clock.now()) };
  memory.createFailures.set(container.name, failure);
  if (about === "volume") tell({ type: "Warning", reason: "FailedMount", message });
  else tell({ type: "Warning", reason: "Failed", message: `Error: ${message}` }, container);
}

export async function startContainer(deps: PodActionDeps, work: PodAtWork, { container, id }: Made): Promise<void> {
  const { memory, tell } = work;
  const hasHook = container.lifecycle?.postStart !== undefined;
  // Before the start: from its first moment on the container counts as not yet through.
  if (hasHook) memory.postStarts.set(id, "running");
  try {
    await deps.runtime.startContainer(id);
  } catch (error) {
    const message = messageOf(error);
    deps.numbers.containerStart("start_failed");
    memory.startFailures.set(id, { message, at: deps.clock.now() });
    tell({ type: "Warning", reason: "Failed", message: `Error: ${message}` }, container);
    return;
  }
  deps.numbers.containerStart("started");
  tell({ type: "Normal", reason: "Started", message: "Container started" }, container);
  if (hasHook) void runPostStart(deps, work, { container, id });
}

async function runPostStart(deps: PodActionDeps, work: PodAtWork, { container, id }: Made): Promise<void> {
  const { memory, tell, wake, runtime } = work;
  const asked = { id, address: runtime?.ip ?? "", container };
  const answer = await ask(deps, asked, container.lifecycle?.postStart ?? {}, { signal: memory.signal });
  if (memory.signal.aborted) return;
  memory.postStarts.set(id, answer.ok ? "done" : "failed");
  // What a hook says may hold secrets: it stays out of the event.
  if (!answer.ok) tell({ type: "Warning", reason: "FailedPostStartHook", message: "PostStartHook failed" }, container);
  wake();
}
