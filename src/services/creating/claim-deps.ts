import type { KeyObject } from "node:crypto";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { DialPod } from "#daemon-client/dial-pod.ts";
import type { PodHttp } from "#daemon-client/pod-http.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Random } from "#lib/backoff.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Tracer } from "#lib/tracing.ts";
import type { ImageCommands, ImageDigests } from "#pools/pool-images.ts";
import type { ClaimQueueOptions } from "#scheduling/claim-queue.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import type { CreateRate } from "#services/limits/create-rate.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import type { HistoryStore } from "#store/history-store.ts";

/** What creating and ending sandboxes is made from. */
export interface SandboxClaimsDeps extends DaemonSettings {
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly digests: ImageDigests;
  readonly commands: ImageCommands;
  readonly daemons: DaemonClient;
  /** For post-start hooks. */
  readonly pods: Pick<PodAccess, "exec">;
  readonly http: Pick<PodHttp, "send">;
  /** For readiness probes of runtimes. */
  readonly dial: DialPod;
  readonly history: Pick<HistoryStore, "get" | "put">;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** The control plane's: sandboxes' tokens are made from it. */
  readonly privateKey: KeyObject;
  /** After so many sandboxes a pod is replaced. */
  readonly maxUses: number;
  /** Where idempotency keys are kept; `default` when left out. */
  readonly keysNamespace?: string;
  /** Where pools are that are asked for without a namespace; `default` when left out. */
  readonly poolNamespace?: string | undefined;
  /** A create that needs a missing ability, or an object server that is known not to answer, is refused at once. */
  readonly abilities: Pick<EngineAbilities, "pause" | "egress" | "objects" | "volumes" | "deepPause">;
  /** Where the engine has volumes. */
  readonly volumes?: Pick<VolumeCache, "list"> | undefined;
  /** How many may wait. */
  readonly limits?: ClaimQueueOptions;
  /** No limits when left out. */
  readonly guard?: Pick<LimitGuard, "reserve"> | undefined;
  readonly rate?: Pick<CreateRate, "take"> | undefined;
  /** Told of every request that found no idle pod, with its team. */
  readonly onMiss?: ((team: string) => void) | undefined;
  readonly random?: Random;
}
