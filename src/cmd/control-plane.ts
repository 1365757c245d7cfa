/** The control plane over an object store: caches and controllers. */
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import type { ImageDigests } from "#lifecycle/pool-images.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";

export interface ControlPlaneOptions {
  readonly client: ObjectClient;
  readonly digests: ImageDigests;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly publicKey: string;
}

const creationsAtOnce = 8;

export async function startControlPlane(options: ControlPlaneOptions): Promise<AsyncDisposable> {
  const { client, clock, log } = options;
  const cache = new SandboxCache({ client, clock, log });
  const pools = startPoolController({ ...options, cache, expectations: new Expectations(clock), random: Math.random, creationsAtOnce });
  await cache.run();
  return {
    [Symbol.asyncDispose]: async () => {
      await pools.stop();
      await cache.stop();
    },
  };
}
