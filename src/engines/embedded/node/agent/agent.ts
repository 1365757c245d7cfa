/**
 * The node agent: what a kubelet is to a cluster. It follows the pods of the object store and drives the container runtime
 * until the machine matches them, and reports the result.
 *
 * - `agent.ts`       puts the parts together
 * - `plan/`          what to do about a pod: pure (plan-pod.ts)
 * - `run/`           does it, pod by pod (pod-worker.ts)
 * - `container/`     turns a pod's spec into a container for the runtime (render-container.ts)
 * - `probe/`, `event/`, `log/`   probes and hooks; events; logs
 * - `pod-access.ts`  logs of pods, and commands run in them
 * - `ports.ts`, `node-pod.ts`  the interfaces that the agent needs; a pod as the store keeps it
 *
 * The agent keeps no state that it cannot lose. It may be killed at any instant; the next agent takes over what runs, finishes what
 * was begun and removes what no pod owns any more (I7, I11).
 */
import { networkInterfaces } from "node:os";
import { type Controller, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import { Informer } from "#kube/informer/informer.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Random } from "#lib/backoff.ts";
import type { MonotonicClock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { LostEnd } from "../node-life.ts";
import type { PodRuntime } from "../pod-runtime.ts";
import type { UsualLimits } from "./container/pod-slot.ts";
import { machineCapacity } from "./container/node-capacity.ts";
import { PodEvents } from "./event/pod-events.ts";
import { ContainerLogs } from "./log/container-logs.ts";
import type { LogLimits } from "./log/rotate-log.ts";
import type { NodeLabels } from "./plan/placement.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import { execInPod, readLogs } from "./pod-access.ts";
import type { NodeImages, PodBinder, PodNetwork } from "./ports.ts";
import { podNetwork } from "./probe/pod-network.ts";
import { Prober } from "./probe/prober.ts";
import { nodeMetrics } from "./run/node-metrics.ts";
import { podPlaces, type TeamOfPool } from "./run/pod-places.ts";
import { PodWorker } from "./run/pod-worker.ts";

export interface NodeAgentOptions {
  readonly client: ObjectClient;
  readonly binder: PodBinder;
  /** Belongs to the caller, which closes it after the agent. */
  readonly runtime: PodRuntime;
  readonly images: NodeImages;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly nodeName: string;
  /** The data folder; logs are below it. */
  readonly home: string;
  /** The control plane's public key, as daemons are given it (envd-protocol/arming.ts). */
  readonly controlPlaneKey: string;
  /** The machine's address as pods are told it: its first one when left out. */
  readonly hostIP?: string;
  /** What ended the containers that are gone, if that is known (node-life.ts). */
  readonly lost?: LostEnd | undefined;
  /** What holds where pods say nothing. */
  readonly podLimits?: Partial<UsualLimits>;
  /** The team that a pool belongs to, where that is known: its pods do not say so before one is claimed. */
  readonly teamOfPool?: TeamOfPool;
  readonly logLimits?: LogLimits;
  readonly network?: PodNetwork;
  readonly random?: Random;
}

export interface NodeAgent extends PodAccess {
  /** Lets go of everything; containers go on running. */
  stop(): Promise<void>;
}

const usualLimits: UsualLimits = { pids: 2_048, ephemeralStorageBytes: 10 * 2 ** 30 };
const sweepEveryMs = 60_000;

/** Resolves when the agent has seen all pods and all that is on the machine, and works. */
export async function startNodeAgent(options: NodeAgentOptions): Promise<NodeAgent> {
  const { client, runtime, clock, log, metrics, nodeName, random = Math.random, network = podNetwork } = options;
  const informer = new Informer({ client, clock, log, random }, { type: Pods });
  const events = new PodEvents({ client, clock, log, metrics, nodeName });
  const logs = new ContainerLogs({ home: options.home, clock, log, limits: options.logLimits });
  const prober = new Prober({ runtime, network, clock, random });
  const numbers = nodeMetrics(metrics, () => informer.objects.size);
  let controller: Controller | undefined;
  const worker = new PodWorker({
    ...options,
    informer,
    events,
    logs,
    prober,
    numbers,
    network,
    node: { name: nodeName, hostIP: options.hostIP ?? machineAddress(), lost: options.lost },
    nodeLabels: nodeLabels(nodeName),
    capacity: machineCapacity(),
    podLimits: { ...usualLimits, ...options.podLimits },
    wake: (key: Key, afterMs?: number) => (afterMs === undefined ? controller?.add(key) : controller?.addAfter(key, afterMs)),
  });
  runtime.onExit((id) => worker.exited(id));
  informer.start();
  await informer.whenSynced();
  const found = await runtime.list();
  const alive = new Set([...informer.objects.list()].map(({ metadata }) => metadata.uid));
  await logs.start((uid) => alive.has(uid));
  controller = startController(
    { clock, log, metrics, random },
    {
      name: "node",
      reconcile: (key, signal) => worker.reconcile(key, signal),
      // A pod that is not started yet goes before looks at thousands that run: a request may wait for it.
      sources: [changesOf(informer, { rank: (key) => (isStarted(informer.get(key)) ? "usual" : "first") })],
      places: (key) => podPlaces(informer.get(key), options.teamOfPool),
    },
  );
  worker.takeOver(found);
  await controller.started;
  const sweeping = startSweeping(options, worker);

  const access = { informer, runtime, logs, clock, teamOfPool: options.teamOfPool };
  return {
    readLogs: (request) => readLogs(access, request),
    exec: (request) => execInPod(access, request),
    stop: async () => {
      sweeping.cancel();
      numbers.stop();
      await controller.stop();
      prober.stop();
      worker.stop();
      await informer.stop();
      await events.written();
      await logs.stop();
    },
  };
}

/** Lists everything on the machine from time to time, to find pods that no event announced. */
function startSweeping({ runtime, clock, log }: NodeAgentOptions, worker: PodWorker): Timer {
  let timer: Timer;
  const again = (): void => {
    timer = clock.after(sweepEveryMs, () => {
      again();
      runtime.list().then(
        (states) => worker.sweep(states),
        (error: unknown) => log.warn({ error }, "node not swept"),
      );
    });
  };
  again();
  return { cancel: () => timer.cancel() };
}

function nodeLabels(nodeName: string): NodeLabels {
  const arch = { x64: "amd64" }[process.arch as string] ?? process.arch;
  return { "kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux", "kubernetes.io/arch": arch };
}

function machineAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
}

/** A pod that is gone counts as started: its removal has places of its own. */
function isStarted(pod: Pod | undefined): boolean {
  return pod === undefined || pod.status?.startTime !== undefined;
}
