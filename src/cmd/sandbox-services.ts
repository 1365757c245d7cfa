/**
 * What hands out sandboxes and answers for them, in whichever process: the claims, the use cases, and the APIs over them. The
 * all-in-one server has one of these, and so has every API process on a cluster.
 */
import type { KeyObject } from "node:crypto";
import type { ApiFace } from "#api/http/api-server.ts";
import { e2bFace } from "#api/e2b/e2b-face.ts";
import { fleetFace } from "#api/native/fleet-routes.ts";
import { nativeFace } from "#api/native/native-routes.ts";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { PodHttp } from "#daemon-client/pod-http.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Tracer } from "#lib/tracing.ts";
import type { ImageCommands, ImageDigests } from "#lifecycle/pool-images.ts";
import type { DaemonSettings } from "#sandbox/daemon-delivery.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { ClaimQueueOptions } from "#scheduling/claim-queue.ts";
import type { SandboxServiceDeps } from "#services/open-sandbox-service.ts";
import { ExecTokens } from "#services/exec-tokens.ts";
import { LiveSandboxes } from "#services/live-sandboxes.ts";
import { openSandboxClaims } from "#services/open-sandbox-claims.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { poolSize, type PoolSize } from "#services/pool-size.ts";
import type { SandboxClaims } from "#services/sandbox-claims.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { type SandboxTokens, sandboxTokens } from "#services/sandbox-tokens.ts";
import { createLimits } from "#services/check-create.ts";
import { daemonUse } from "#services/usage/daemon-use.ts";
import type { ReadPodUse } from "#services/usage/pod-use.ts";
import { sandboxUsage } from "#services/usage/sandbox-usage.ts";
import { UsageSampler } from "#services/usage/usage-sampler.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { fleetServices } from "./fleet-services.ts";

export interface SandboxServicesOptions extends DaemonSettings {
  readonly client: ObjectClient;
  /** Run and stopped by whoever shares it. */
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly digests: ImageDigests;
  readonly commands: ImageCommands;
  readonly pods: PodAccess;
  readonly daemons: DaemonClient;
  readonly http: PodHttp;
  readonly activity: SandboxServiceDeps["activity"];
  readonly privateKey: KeyObject;
  readonly maxUses: number;
  /** What every sandbox uses, for the only process that serves an API. Left out: daemons are asked, about those that are asked for. */
  readonly podUse?: ReadPodUse;
  /** Where pools are that are asked for without a namespace; `default` when left out. */
  readonly poolNamespace?: string | undefined;
  /** Where idempotency keys are kept; `default` when left out. */
  readonly keysNamespace?: string;
  /** False where no node does what egress policies say; true when left out. */
  readonly enforcesEgress?: boolean;
  /** Whether this node can freeze sandboxes, or without a name any; all can when left out. */
  readonly freezes?: (nodeName?: string) => boolean;
  /** True while the object server is known not to answer. */
  readonly isServerGone?: () => boolean;
  /** How many creates may wait at a time; as usual when left out. */
  readonly queueSize?: number | undefined;
  /** The longest that E2B's clients may ask for; as on the native API when left out. */
  readonly maxTimeoutMs?: number | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

export interface SandboxServices extends AsyncDisposable {
  readonly claims: SandboxClaims;
  readonly sandboxes: SandboxService;
  readonly tokens: SandboxTokens;
  /** `domain`: whose hosts sandboxes are, for E2B's clients. */
  readonly faces: (domain: string) => readonly ApiFace[];
  /** Ends creates that wait, so that their callers have an answer while there still is a server; everything else goes on. */
  readonly refuseCreates: () => Promise<void>;
}

export function openSandboxServices(options: SandboxServicesOptions): SandboxServices {
  const { cache, clock, log, privateKey, podUse } = options;
  const limits = queueLimits(options.queueSize);
  const claims = openSandboxClaims({ ...options, ...(limits && { limits }) });
  const refuseCreates = once(claims);
  const live = new LiveSandboxes(cache.pods);
  const sandboxes = openSandboxService({ ...options, live, claims });
  const tokens = sandboxTokens(privateKey);
  const execTokens = new ExecTokens<ExecRequest>({ clock, privateKey });
  const fleet = fleetServices({ ...options, live });
  const read = podUse ?? daemonUse({ http: options.http, tokens });
  const sampler = new UsageSampler({ ...options, live, read, whom: podUse === undefined ? "asked" : "all" });
  const usage = sandboxUsage({ cache, sampler });
  const maxTimeoutSeconds = Math.floor((options.maxTimeoutMs ?? usualMaxTimeoutMs) / 1000);
  const sizeOf = (pool: SandboxPool): PoolSize => poolSize(cache, pool);
  return {
    claims,
    sandboxes,
    tokens,
    faces: (domain) => [
      nativeFace({ sandboxes, execTokens, clock, log }),
      fleetFace(fleet),
      e2bFace({ sandboxes, pools: fleet.pools, usage, sizeOf, ...tokens, domain, maxTimeoutSeconds }),
    ],
    refuseCreates,
    [Symbol.asyncDispose]: async () => {
      sampler[Symbol.dispose]();
      live[Symbol.dispose]();
      await refuseCreates();
    },
  };
}

const usualMaxTimeoutMs = createLimits.lifetime.max;

/** One tenant alone may take a quarter of the places. */
function queueLimits(size: number | undefined): ClaimQueueOptions | undefined {
  return size === undefined ? undefined : { maxWaiting: size, maxWaitingOfTenant: Math.ceil(size / 4) };
}

function once(claims: SandboxClaims): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= claims.stop());
}
