import type { KeyObject } from "node:crypto";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { PodHttp } from "#daemon-client/pod-http.ts";
import type { TrafficLog } from "#gateway/activity.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Tracer } from "#lib/tracing.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { HistoryStore } from "#store/history-store.ts";
import type { ServerMetrics } from "#cmd/parts/server-metrics.ts";
import type { ClusterEngine } from "./cluster-engine.ts";
import type { Cluster } from "./connect-cluster.ts";
import type { Readiness } from "./health-port.ts";

/** How long a process that ends goes on answering: others are there, and clients learn with an answer that they should go to them. */
export const handOverMs = 3_000;

/** What all parts of a process on a cluster stand on. */
export interface ClusterParts extends Pick<Cluster, "client" | "impatient" | "reach" | "namespace"> {
  /** Which process this is, among all of AgentBox. */
  readonly identity: string;
  readonly cache: SandboxCache;
  /** Left out if only a gateway runs and no namespace is configured. */
  readonly history: HistoryStore | undefined;
  readonly privateKey: KeyObject;
  readonly publicKey: string;
  readonly daemons: DaemonClient;
  readonly http: PodHttp;
  readonly traffic: TrafficLog;
  readonly engine: ClusterEngine;
  /** Left out where only a gateway runs. */
  readonly plugins: PluginChain | undefined;
  readonly maxUses: number;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: ServerMetrics;
  readonly tracer: Tracer;
  readonly readiness: Readiness;
  readonly signal: AbortSignal;
}
