/** The product's own parts, wired as a composition root does, with the simulated world below them. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { generateKeyPairSync } from "node:crypto";
import { startTimeoutController } from "#life/end/reconcile-timeouts.ts";
import { ArmingWatch } from "#life/end/arming-watch.ts";
import { defaultTimeoutLimits } from "#life/end/timeout-deps.ts";
import { EndRecorder } from "#life/record/end-recorder.ts";
import { defaultRecycleTimeoutMs } from "#life/pod-deps.ts";
import { startPodController } from "#life/reconcile-pod.ts";
import { startCheckpointController } from "#controllers/checkpoint/reconcile-checkpoint.ts";
import type { CheckpointImages } from "#engine-port/checkpoint-images.ts";
import { startEnvController } from "#controllers/env/reconcile-env.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import { PoolRefusals } from "#controllers/pool/status/pool-refusals.ts";
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import { startRecycleController } from "#life/recycle/recycle-loop.ts";
import { startScalingController } from "#controllers/scaling/reconcile-scaling.ts";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { noTracing } from "#lib/tracing.ts";
import { startLeaderElection } from "#kube/leader/leader-election.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { restingPods } from "#life/recycle/resting.ts";
import type { Plugin } from "#plugins/plugin.ts";
import { openPluginChain } from "#plugins/plugin-chain.ts";
import { poolsIn } from "#plugins/pool-spec.ts";
import { quotaPlugin } from "#plugins/quota.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";
import { openSandboxClaims } from "#services/creating/open-sandbox-claims.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";
import { setTimeouts } from "#services/changing/set-timeouts.ts";
import type { HistoryStore } from "#store/history-store.ts";
import type { Api } from "./clients.ts";
import { clusterID } from "./envs.ts";
import type { Process } from "./process.ts";
import { commands, digests, namespace } from "./pools.ts";
import { noMetrics, tracedLog } from "./quiet.ts";
import type { SeededRandom } from "./random.ts";
import type { Trace } from "./trace.ts";
import { claimBook } from "../world/claim-books.ts";

/** The world as one process reaches it. */
export interface Reach {
  readonly process: Process;
  readonly clock: MonotonicClock;
  readonly client: ObjectClient;
  /** The same for all processes of a run. */
  readonly claimsOnLeases: boolean;
  readonly daemon: DaemonClient;
  readonly history: HistoryStore;
  readonly lastActive: LastActiveSource;
  /** How hard pods are wanted, by all processes that take requests. */
  readonly pressure: ClaimPressure;
  /** Told by a process that takes requests. */
  readonly onClaims: (claims: Pick<SandboxClaims, "pending" | "waitingSets" | "inFlight" | "onWaiting">) => void;
  readonly plugin: Plugin;
  /** In runs without checkpoints there are none. */
  readonly checkpoints: CheckpointImages | undefined;
  /** Told when this process begins to lead. */
  readonly onLead: () => void;
  readonly random: SeededRandom;
  readonly trace: Trace;
}

/** Only tokens are derived from it here, and none is used, so a new key for every run changes nothing. */
const { privateKey } = generateKeyPairSync("ed25519");
const publicKey = publicKeyText(privateKey);
/** Sandboxes of the simulation have no post-start hooks. */
const noHooks = {
  exec: () => Promise.reject(new Error("there are no hooks")),
  send: () => Promise.reject(new Error("there are no hooks")),
};
/** For which processes elect a leader. */
export const leaderLease = "controllers";
const maxUses = 5;
const creationsAtOnce = 3;

function basics({ process, clock, client, claimsOnLeases, random, trace }: Reach) {
  const log = tracedLog(trace, process.name);
  const cache = new SandboxCache(
    { client, clock, log, random: random.next },
    { limitsNamespace: namespace, claims: claimBook(claimsOnLeases) },
  );
  return { client, clock, log, cache, metrics: noMetrics, random: random.next, digests, publicKey, maxUses, abilities: embeddedAbilities };
}

/** One of several processes that take requests. */
export function startApi(reach: Reach): Api["service"] {
  const deps = basics(reach);
  void deps.cache.run();
  const { daemon, history } = reach;
  const claims = openSandboxClaims({
    ...deps,
    commands,
    daemons: daemon,
    history,
    privateKey,
    tracer: noTracing,
    pods: noHooks,
    http: noHooks,
    dial: noHooks.send,
  });
  reach.onClaims(claims);
  return {
    create: claims.create,
    end: claims.end,
    setTimeouts: (caller, sandboxId, change) => setTimeouts({ ...deps, history }, caller, sandboxId, change),
  };
}

function quotaOver(cache: SandboxCache): Plugin {
  const { amountsOf } = poolsIn(cache);
  return quotaPlugin({ table: () => cache.limitTable(), poolsOfTeam: (team) => cache.poolsOfTeam(team), amountsOf });
}

/** One of several processes with controllers, of which one leads. */
export function startControllers(reach: Reach): undefined {
  const { history, daemon, lastActive, process, onLead, pressure, plugin } = reach;
  const own = basics(reach);
  const plugins = openPluginChain([quotaOver(own.cache), plugin], own);
  const deps = { ...own, resting: restingPods({ ...own, daemon }), pressure, plugins, clusterID };
  const { cache, clock, random } = deps;
  void cache.run();
  const lead = async (signal: AbortSignal): Promise<void> => {
    onLead();
    const events = { record: () => {}, forget: () => {} };
    const observer = { started: () => {}, exchanged: () => {}, recycled: () => {}, ended: () => {} };
    const recorder = new EndRecorder({ ...deps, history });
    const pods = startPodController({ ...deps, recorder, observer, events, daemon, recycleTimeoutMs: defaultRecycleTimeoutMs });
    const arming = new ArmingWatch({ daemon, clock, random });
    const timeouts = startTimeoutController({ ...deps, arming, lastActive, observer, events, limits: defaultTimeoutLimits });
    const recycling = startRecycleController(deps);
    const refusals = new PoolRefusals(clock);
    const pools = startPoolController({ ...deps, refusals, expectations: new Expectations(clock), creationsAtOnce });
    const envs = startEnvController({ ...deps, events });
    const scaling = startScalingController({ ...deps, refusals, events });
    const { checkpoints: images } = reach;
    const checkpoints = images === undefined ? undefined : startCheckpointController({ ...deps, history, checkpoints: images });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await Promise.all([pods.stop(), timeouts.stop(), recycling.stop(), pools.stop(), envs.stop(), scaling.stop(), checkpoints?.stop()]);
  };
  startLeaderElection(deps, {
    namespace,
    name: leaderLease,
    identity: process.name,
    lead,
  });
}
