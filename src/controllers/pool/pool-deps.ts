import type { Expectations } from "#kube/controller/expectations.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { ImageDigests } from "#lifecycle/pool-images.ts";
import type { Logger } from "#lib/log.ts";

/** What the behaviours of a pool work with. */
export interface PoolDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "templates">;
  readonly expectations: Expectations;
  readonly digests: ImageDigests;
  readonly clock: Clock;
  readonly log: Logger;
  /** For the names of new pods, and nothing that must not be guessed. */
  readonly random: () => number;
  /** The control plane's, which waiting daemons take their orders by. */
  readonly publicKey: string;
  /** How many pods are created at once. */
  readonly creationsAtOnce: number;
}
