/** What others ask of pods on this node: what they wrote, and to run something in them. */
import type { Informer } from "#kube/informer/informer.ts";
import { type ExecInPod, type ExecSession, PodAccessError, type ReadLogs } from "#kube/pod-access.ts";
import type { Clock } from "#lib/clock.ts";
import type { Pod } from "#model/pod.ts";
import { restWish } from "#model/rest.ts";
import type { ContainerStateOnNode, PodRuntime } from "../pod-runtime.ts";
import type { ContainerLogs } from "./log/container-logs.ts";
import { ownerOf, type TeamOfPool } from "./run/pod-places.ts";
import { type NodePod, nodePod } from "./node-pod.ts";

export interface PodAccessDeps {
  readonly informer: Informer<Pod>;
  readonly runtime: PodRuntime;
  readonly logs: ContainerLogs;
  readonly clock: Clock;
  readonly teamOfPool?: TeamOfPool | undefined;
}

export async function* readLogs(deps: PodAccessDeps, request: ReadLogs): AsyncGenerator<Buffer, void> {
  const { previous = false, tail, sinceMs, signal, follow } = request;
  const { pod, name } = find(deps, request);
  const newest = await newestAttempt(deps, pod, name);
  const current = newest?.attempt ?? storedAttempt(pod, name);
  const attempt = previous ? current - 1 : current;
  if (attempt < 0) {
    throw new PodAccessError(
      "not_found",
      previous
        ? `the container ${name} of ${nameOf(pod)} has not been restarted`
        : `the container ${name} of ${nameOf(pod)} has not been started yet`,
    );
  }
  yield* deps.logs.read({
    pod: pod.metadata,
    container: name,
    attempt,
    tail,
    signal,
    since: sinceMs === undefined ? undefined : deps.clock.now() - sinceMs,
    ...(follow === undefined ? {} : { follow: { signal: follow, isWritten: () => isRunning(deps, pod, name, attempt) } }),
  });
}

export async function execInPod(deps: PodAccessDeps, request: ExecInPod): Promise<ExecSession> {
  const { pod, name } = find(deps, request);
  const container = await newestAttempt(deps, pod, name);
  if (container?.state !== "running") throw new PodAccessError("not_running", `the container ${name} of ${nameOf(pod)} is not running`);
  if ((await deps.runtime.inspect(pod.metadata.uid))?.frozen === true) {
    const why = restWish(pod) === undefined ? "is paused: nothing can be run in it until it is resumed" : "rests: its sandbox has ended";
    throw new PodAccessError("not_running", `the pod ${nameOf(pod)} ${why}`);
  }
  return deps.runtime.exec(container.id, request.command, ownerOf(pod, deps.teamOfPool));
}

function find(
  { informer }: PodAccessDeps,
  { pod: key, container }: ReadLogs | ExecInPod,
): { readonly pod: NodePod; readonly name: string } {
  const found = informer.get(key);
  if (found === undefined) throw new PodAccessError("not_found", `there is no pod ${key.namespace ?? ""}/${key.name}`);
  const pod = nodePod(found);
  const names = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map(({ name }) => name);
  const name = container ?? names[0] ?? "";
  if (names.includes(name)) return { pod, name };
  throw new PodAccessError("not_found", `the pod ${nameOf(pod)} has no container ${name}; it has: ${names.join(", ")}`);
}

async function newestAttempt({ runtime }: PodAccessDeps, { metadata }: NodePod, name: string): Promise<ContainerStateOnNode | undefined> {
  const containers = (await runtime.inspect(metadata.uid))?.containers.filter((one) => one.name === name) ?? [];
  return containers.sort((a, b) => b.attempt - a.attempt)[0];
}

/** For pods that have ended: their logs stay until the object goes. */
function storedAttempt({ status }: NodePod, name: string): number {
  const stored = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find((one) => one.name === name);
  return stored?.containerID === undefined ? -1 : stored.restartCount;
}

async function isRunning(deps: PodAccessDeps, pod: NodePod, name: string, attempt: number): Promise<boolean> {
  const newest = await newestAttempt(deps, pod, name);
  return newest?.attempt === attempt && newest.state === "running";
}

function nameOf({ metadata: { namespace, name } }: NodePod): string {
  return `${namespace}/${name}`;
}
