/** The product's own parts, wired as a composition root does, with the simulated world below them. */
import { generateKeyPairSync } from "node:crypto";
import { startTimeoutController } from "#controllers/idle-timeout/reconcile-timeouts.ts";
import { ArmingWatch } from "#controllers/idle-timeout/arming-watch.ts";
import { defaultTimeoutLimits } from "#controllers/idle-timeout/timeout-deps.ts";
import { EndRecorder } from "#controllers/pod/end-recorder.ts";
import { defaultRecycleTimeoutMs } from "#controllers/pod/pod-deps.ts";
import { startPodController } from "#controllers/pod/reconcile-pod.ts";
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import { startRenewalController } from "#controllers/renewal/reconcile-node.ts";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { noTracing } from "#lib/tracing.ts";
import { startLeaderElection } from "#kube/leader/leader-election.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { restingPods } from "#lifecycle/resting.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";
import { openSandboxClaims } from "#services/open-sandbox-claims.ts";
import { setTimeouts } from "#services/set-timeouts.ts";
import type { HistoryStore } from "#store/history-store.ts";
import type { Api } from "./clients.ts";
import type { Process } from "./process.ts";
import { commands, digests, namespace } from "./pools.ts";
import { noMetrics, tracedLog } from "./quiet.ts";
import type { SeededRandom } from "./random.ts";
import type { Trace } from "./trace.ts";

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
  /** Told when this process begins to lead. */
  readonly onLead: () => void;
  readonly random: SeededRandom;
  readonly trace: Trace;
}

/** Only tokens are made from it here, and nobody asks for one: that it is another one every time changes nothing. */
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
  const cache = new SandboxCache({ client, clock, log, random: random.next }, { claimsOnLeases });
  return { client, clock, log, cache, metrics: noMetrics, random: random.next, digests, publicKey, maxUses };
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
  });
  return {
    create: claims.create,
    end: claims.end,
    setTimeouts: (caller, sandboxId, change) => setTimeouts({ ...deps, history }, caller, sandboxId, change),
  };
}

/** One of several processes with controllers, of which one leads. */
export function startControllers(reach: Reach): undefined {
  const { history, daemon, lastActive, process, onLead } = reach;
  const own = basics(reach);
  const deps = { ...own, resting: restingPods({ ...own, daemon }) };
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
    const renewals = startRenewalController(deps);
    const pools = startPoolController({ ...deps, expectations: new Expectations(clock), creationsAtOnce });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await Promise.all([pods.stop(), timeouts.stop(), renewals.stop(), pools.stop()]);
  };
  startLeaderElection(deps, {
    namespace,
    name: leaderLease,
    identity: process.name,
    lead,
  });
}
