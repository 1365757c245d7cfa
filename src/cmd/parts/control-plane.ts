/** The control plane over an object store: controllers, and the history that they write. */
import { hostname } from "node:os";
import { startAdoptionController } from "#controllers/adoption/reconcile-adoption.ts";
import { startEvents } from "#controllers/events/start-events.ts";
import { startEnvController } from "#controllers/env/reconcile-env.ts";
import { ArmingWatch } from "#life/end/arming-watch.ts";
import { annotatedActivity } from "#life/end/timeout-deps.ts";
import { startTimeoutController } from "#life/end/reconcile-timeouts.ts";
import { defaultTimeoutLimits } from "#life/end/timeout-deps.ts";
import { EndRecorder } from "#life/record/end-recorder.ts";
import { defaultKeptLogBytes, LogKeeper, type LogKeeperDeps } from "#life/record/keep-log.ts";
import { defaultRecycleTimeoutMs } from "#life/pod-deps.ts";
import { podMetrics } from "#life/pod-metrics.ts";
import { startPodController } from "#life/reconcile-pod.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import { PoolRefusals } from "#controllers/pool/status/pool-refusals.ts";
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import { startRecycleController } from "#life/recycle/recycle-loop.ts";
import { startScalingController } from "#controllers/scaling/reconcile-scaling.ts";
import { startTemplateController } from "#controllers/template/reconcile-template.ts";
import { startVolumeController } from "#controllers/volume/reconcile-volume.ts";
import { startCheckpointController } from "#controllers/checkpoint/reconcile-checkpoint.ts";
import { startDeepPauseController } from "#controllers/deep-pause/reconcile-deep-pause.ts";
import { startPauseCheckpointController } from "#controllers/deep-pause/reconcile-pause-checkpoint.ts";
import type { CheckpointImages } from "#engine-port/checkpoint-images.ts";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { Volumes } from "#engine-port/volumes.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { Controller } from "#kube/controller/controller.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import type { Key } from "#kube/controller/key.ts";
import { EventRecorder } from "#kube/events/event-recorder.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock, MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { ImageDigests } from "#pools/pool-images.ts";
import { restingPods } from "#life/recycle/resting.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { type HistoryOptions, openHistory } from "#store/open-history.ts";
import { runRetention } from "#store/retention.ts";

export interface ControlPlaneOptions extends DaemonSettings {
  /** Of ended sandboxes; left out: none are kept. */
  readonly keptLogs?: Pick<LogKeeperDeps, "pods" | "maxBytes"> | undefined;
  readonly client: ObjectClient;
  /** Run and stopped by the caller, because its services read from the same cache. */
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly digests: ImageDigests;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly abilities: Pick<EngineAbilities, "userNamespaces" | "volumes" | "checkpoint" | "deepPause">;
  /** Objects of volumes, run and stopped by the caller; nothing acts on them when left out. */
  readonly volumes?: VolumeCache | undefined;
  /** Where the engine has volumes. */
  readonly volumeData?: Volumes | undefined;
  /** Left out where the ability is missing. */
  readonly checkpoints?: CheckpointImages | undefined;
  /** Demand for pods: refilling yields to claims, and pools report how many requests wait. Left out: no demand. */
  readonly pressure?: ClaimPressure | undefined;
  /** Tells which sandbox a container serves: whether a sandbox was armed, and whether a pod may become idle. */
  readonly daemon: Pick<DaemonClient, "health" | "retire">;
  /** Source of traffic of sandboxes. Left out: all traffic stands on their pods. */
  readonly lastActive?: LastActiveSource;
  /** A pod that carried so many sandboxes is replaced: what leaks slowly on a node goes with it. */
  readonly maxUses?: number | undefined;
  /** Asked before pools and pods are made. Everything is admitted as it is when left out. */
  readonly plugins?: PluginChain | undefined;
  /** Whether templates are told how they stand. They are when left out. */
  readonly templateStatus?: boolean | undefined;
  /** Which entry of an Env's clusters this server keeps. Left out: Envs are not kept at all. */
  readonly clusterID?: string | undefined;
  /** Every pool that does not say no gets an Env of its name; only those that ask for one when left out. */
  readonly adoptPools?: boolean | undefined;
  /** Where webhooks are stored, and the hosts that they may use although their addresses are not public. Left out: no events are recorded. */
  readonly webhooks?: { readonly namespace: string; readonly hosts: readonly string[] } | undefined;
}

const creationsAtOnce = 8;
export const defaultMaxUses = 100;

export function startControlPlane(options: ControlPlaneOptions): AsyncDisposable {
  const controllers = startControllers(options);
  const { webhooks } = options;
  const events =
    webhooks && startEvents({ ...options, webhookNamespace: webhooks.namespace, webhookHosts: webhooks.hosts, random: Math.random });
  return {
    [Symbol.asyncDispose]: async () => {
      await events?.[Symbol.asyncDispose]();
      await Promise.all(controllers.map((controller) => controller.stop()));
    },
  };
}

function startControllers(options: ControlPlaneOptions): readonly Controller[] {
  const { clock, metrics, daemon, lastActive = annotatedActivity, maxUses = defaultMaxUses, templateStatus = true } = options;
  const events = new EventRecorder({ ...options, component: "agentbox-controller", host: hostname() });
  const observer = podMetrics({ metrics, clock });
  const random = Math.random;
  const resting = restingPods(options);
  const refusals = new PoolRefusals(clock);
  const common = { ...options, events, observer, random, maxUses, resting, refusals };
  const { clusterID, volumes, volumeData: engine } = options;
  if (clusterID === undefined) options.log.warn({}, "SandboxEnvs are not kept: this server has no cluster id (--cluster-id)");
  return [
    ...(clusterID === undefined ? [] : [startEnvController({ ...common, clusterID }), startAdoptionController({ ...common, clusterID })]),
    startPoolController({ ...common, expectations: new Expectations(clock), creationsAtOnce }),
    ...(clusterID === undefined ? [] : [startScalingController({ ...common, clusterID })]),
    ...(templateStatus ? [startTemplateController(common)] : []),
    startPodController({
      ...common,
      recorder: new EndRecorder(options),
      logs: logKeeper(options),
      recycleTimeoutMs: defaultRecycleTimeoutMs,
    }),
    startRecycleController(common),
    ...(volumes === undefined ? [] : [startVolumeController({ ...common, volumes, engine })]),
    startCheckpointController(common),
    startDeepPauseController(common),
    startPauseCheckpointController(common),
    startTimeoutController({ ...common, arming: new ArmingWatch({ daemon, clock, random }), lastActive, limits: defaultTimeoutLimits }),
  ];
}

function logKeeper({ keptLogs, history, clock, log }: ControlPlaneOptions): LogKeeper | undefined {
  return keptLogs && new LogKeeper({ ...keptLogs, store: history.logs, clock, log });
}

/** Demand as seen by the claims of this process. */
export function pressureOf(claims: Pick<SandboxClaims, "pending" | "waitingSets" | "inFlight" | "onWaiting">): ClaimPressure {
  return {
    inFlight: (pool) => claims.inFlight(poolRef(pool)),
    waiting: (pool) => claims.pending(poolRef(pool)),
    setsAt: (pool) => claims.waitingSets(poolRef(pool)),
    onWaiting: (handler) => claims.onWaiting(handler),
  };
}

function poolRef({ namespace = "", name }: Key): PoolRef {
  return { namespace, name };
}

export interface StartedHistory extends AsyncDisposable {
  readonly history: HistoryStore;
}

/** The history, and the loop that forgets what is old in it. Throws HistoryError. */
export async function startHistory(options: HistoryOptions & Keeping): Promise<StartedHistory> {
  const history = await openHistory(options);
  const retention = startRetention({ ...options, history });
  return {
    history,
    [Symbol.asyncDispose]: async () => {
      await retention[Symbol.asyncDispose]();
      await history.close();
    },
  };
}

/** Undefined where no logs are kept. */
export function keptLogsOf(pods: LogKeeperDeps["pods"], settings: LogSettings): ControlPlaneOptions["keptLogs"] {
  const { logRetentionMs = settings.usualMs, logSizeKib } = settings;
  if (logRetentionMs === 0) return undefined;
  return { pods, maxBytes: logSizeKib === undefined ? defaultKeptLogBytes : logSizeKib * 1024 };
}

export interface LogSettings {
  readonly logRetentionMs?: number | undefined;
  readonly logSizeKib?: number | undefined;
  /** How long they are kept where nothing is said. */
  readonly usualMs: number;
}

export interface Keeping {
  readonly keepMs?: number | undefined;
  readonly keepAuditMs?: number | undefined;
  readonly keepLogsMs?: number | undefined;
}

export interface RetainedHistory extends Keeping {
  readonly history: HistoryStore;
  readonly clock: Clock;
  readonly log: Logger;
}

export function startRetention({ history, ...options }: RetainedHistory): AsyncDisposable {
  const stop = new AbortController();
  const ended = runRetention({ ...options, history }, stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error("the history is closed"));
      await ended;
    },
  };
}
