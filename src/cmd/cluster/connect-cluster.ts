/** Connects to the cluster's API server: its address, our identity, and whether it answers. */
import type { ServePart } from "#cli/context.ts";
import { CliError } from "#cli/failure.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { isApiError } from "#kube/api-error.ts";
import type { InformerPace } from "#kube/informer/informer.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import { ServerReach } from "#kube/server-reach.ts";
import { backoffMs } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { Leases } from "#model/core-kinds.ts";

export interface ConnectOptions {
  readonly kubeconfig: string | undefined;
  readonly namespace: string | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly parts: readonly ServePart[];
}

export interface Cluster extends AsyncDisposable {
  /** For loops: it tries for as long as a call may take. */
  readonly client: ObjectClient;
  /** For calls that a client waits for: they fail at once while the server is known to be unreachable. */
  readonly impatient: ObjectClient;
  readonly reach: ServerReach;
  /** What runs in its pods. */
  readonly pods: PodAccess;
  /** Where AgentBox's own things are. */
  readonly namespace: string;
}

/** Every loop of ours tries again by itself, and tells others of a failure at once: the client need not be patient for them. */
const retries = { maxTries: 2, maxWaitMs: 2_000 };
const requestTimeoutMs = 20_000;
/**
 * A burst of claims goes out over these. More would not make it faster where an API server has a few processors, and each that a burst
 * finds closed costs both sides a handshake.
 */
const connections = 24;

/** There are few processes, and all of them want to know soon that a server is back. */
export const clusterPace: Partial<InformerPace> = { backoff: { baseMs: 200, maxMs: 3_000, jitter: "equal" } };

export const leaderLease = "agentbox-controllers";

export async function connectCluster(options: ConnectOptions): Promise<Cluster> {
  const { clock, log, version, parts } = options;
  const staysWarm = parts.includes("api");
  const settings = { clock, retries, requestTimeoutMs, connections, staysWarm, userAgent: `agentbox/${version}` };
  const client = await kubernetesClient({ kubeconfig: options.kubeconfig, ...settings }).catch(explain);
  const namespace = namespaceOf(options, client);
  const probe = (signal: AbortSignal): Promise<unknown> => client.get(Leases, { namespace, name: leaderLease }, { signal });
  const reach = new ServerReach({ clock, log, probe });
  const observed = reach.observed(client);
  return {
    client: observed,
    impatient: reach.impatient(observed),
    reach,
    pods: client.pods,
    namespace,
    [Symbol.asyncDispose]: async () => {
      reach.stop();
      await client.close();
    },
  };
}

function namespaceOf({ namespace }: ConnectOptions, client: KubernetesClient): string {
  const chosen = namespace ?? client.namespace;
  if (chosen !== undefined) return chosen;
  throw new CliError("say in which namespace AgentBox's own things are: --namespace NAME, or AGENTBOX_NAMESPACE");
}

function explain(error: unknown): never {
  throw new CliError(`the cluster cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
}

const pauses = { baseMs: 500, maxMs: 5_000, jitter: "equal" } as const;

/** The first things that are asked of the server: nothing can go on without them, and what is refused is for people to see to. */
export async function untilAnswered<T>(
  { clock, log, signal }: Pick<ConnectOptions, "clock" | "log"> & { readonly signal: AbortSignal },
  ask: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!isApiError(error, "Unreachable", "Timeout", "ServerTimeout", "ServiceUnavailable", "TooManyRequests")) {
        if (isApiError(error)) throw new CliError(`the API server refuses what AgentBox starts with: ${error.message}`);
        throw error;
      }
      log.warn({ error }, "API server does not answer yet; tried again");
      await sleep(clock, backoffMs(pauses, failures, Math.random), signal);
    }
  }
}
