/**
 * What pods wrote, and to run something in them, through the API server and the pod's kubelet.
 *
 * - `exec-command.ts` how a command is asked for, - `exec-session.ts` one that runs, with `launch-note.ts` and `exit-status.ts` for what
 *   is said of its beginning and end, - `access-error.ts` what refusals mean
 */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type ExecInPod, type ExecSession, type PodAccess, PodAccessError, type ReadLogs } from "#kube/pod-access.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import type { Clock } from "#lib/clock.ts";
import { type Container, type Pod, Pods } from "#model/pod.ts";
import { objectPath, query } from "../resource-path.ts";
import type { Transport } from "../transport.ts";
import { accessError } from "./access-error.ts";
import { type Launched, planCommand, signalCommand } from "./exec-command.ts";
import { execProtocols, SocketSession } from "./exec-session.ts";

export interface PodAccessDeps {
  readonly client: Pick<ObjectClient, "get">;
  readonly transport: Pick<Transport, "stream" | "socket">;
  readonly clock: Clock;
}

export class KubernetesPodAccess implements PodAccess {
  readonly #deps: PodAccessDeps;

  constructor(deps: PodAccessDeps) {
    this.#deps = deps;
  }

  async *readLogs(request: ReadLogs): AsyncGenerator<Buffer, void> {
    const { tail, sinceMs, previous, follow } = request;
    const signal = follow ?? request.signal;
    const { pod, container } = await this.#find(request, signal);
    if (pod.spec.nodeName === undefined) {
      throw new PodAccessError("not_found", `the container ${container.name} of ${nameOf(pod)} has not been started yet`);
    }
    const parameters = {
      container: container.name,
      tailLines: tail,
      // The server has seconds, and takes at least one.
      sinceSeconds: sinceMs === undefined || !Number.isFinite(sinceMs) ? undefined : Math.max(1, Math.ceil(sinceMs / 1000)),
      previous: previous === true ? true : undefined,
      follow: follow === undefined ? undefined : true,
    };
    const path = objectPath(Pods, request.pod, "log") + query(parameters);
    try {
      yield* this.#deps.transport.stream({ method: "GET", path, accept: "*/*", signal });
    } catch (error) {
      if (signal?.aborted !== true) throw accessError(error);
    }
  }

  async exec({ command, ...wanted }: ExecInPod): Promise<ExecSession> {
    const { signal, tty, workingDir } = command;
    const { pod, container } = await this.#find(wanted, signal);
    if (!isRunning(pod, container)) {
      throw new PodAccessError("not_running", `the container ${container.name} of ${nameOf(pod)} is not running`);
    }
    const { argv, ...plan } = planCommand(container, command);
    const socket = await this.#open({ pod, container, argv, isInteractive: tty !== undefined }, signal);
    const signals = new InTurn(mostSignals);
    const send = (launched: Launched, name: ExecSignal): void =>
      signals.run(() => this.#runAlone({ pod, container, argv: signalCommand(launched, name), isInteractive: false }));
    return new SocketSession(socket, { clock: this.#deps.clock, tty, signal, argv: command.argv, workingDir, ...plan, send });
  }

  async #open({ pod, container, argv, isInteractive }: Started, signal?: AbortSignal): Promise<Awaited<ReturnType<Transport["socket"]>>> {
    const { namespace, name = "" } = pod.metadata;
    const flags = { container: container.name, stdin: true, stdout: true, stderr: !isInteractive, tty: isInteractive };
    const words = new URLSearchParams(argv.map((word) => ["command", word]));
    const path = `${objectPath(Pods, { namespace, name }, "exec")}${query(flags)}&${words.toString()}`;
    try {
      return await this.#deps.transport.socket({ path, protocols: execProtocols, signal });
    } catch (error) {
      throw accessError(error);
    }
  }

  /** The caller does not wait for it. A container that cannot be reached any more has no command left to signal. */
  async #runAlone(started: Started): Promise<void> {
    try {
      const socket = await this.#open(started);
      socket.on("error", () => {});
      socket.resume();
    } catch {
      // See above.
    }
  }

  async #find({ pod: key, container: name }: Wanted, signal: AbortSignal | undefined): Promise<Found> {
    const pod = await this.#deps.client.get(Pods, key, { signal }).catch((error: unknown) => {
      throw isApiError(error, "NotFound") ? new PodAccessError("not_found", `there is no pod ${key.namespace ?? ""}/${key.name}`) : error;
    });
    const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
    const container = name === undefined ? containers[0] : containers.find((one) => one.name === name);
    if (container !== undefined) return { pod, container };
    const names = containers.map((one) => one.name).join(", ");
    throw new PodAccessError("not_found", `the pod ${nameOf(pod)} has no container ${name ?? ""}; it has: ${names}`);
  }
}

/** Each is a connection of its own to the API server, so a client that sends more has the rest dropped. */
const mostSignals = 8;

/** One after the other, in their order, and never more than so many that wait. */
class InTurn {
  readonly #most: number;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(most: number) {
    this.#most = most;
  }

  run(work: () => Promise<void>): void {
    if (this.#waiting >= this.#most) return;
    this.#waiting += 1;
    this.#last = this.#last.then(work).finally(() => (this.#waiting -= 1));
  }
}

type Wanted = Pick<ReadLogs, "pod" | "container">;

interface Found {
  readonly pod: Pod;
  readonly container: Container;
}

interface Started extends Found {
  readonly argv: readonly string[];
  readonly isInteractive: boolean;
}

function isRunning({ status }: Pod, { name }: Container): boolean {
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return statuses.find((one) => one.name === name)?.state?.running !== undefined;
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
