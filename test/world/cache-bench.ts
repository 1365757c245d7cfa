/** A cache on a scripted server with a stepped clock, and what tests put there. */
import { SandboxCache, type SandboxCacheOptions } from "#read-model/sandbox-cache.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { leaseAbout } from "#engines/kubernetes/claims/claim-lease.ts";
import { Leases } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { recordedLog } from "./recorded-log.ts";
import { aSandboxPod, type SandboxPodShape } from "./sandbox-pods.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";
import { claimBook } from "./claim-books.ts";

export class CacheBench implements AsyncDisposable {
  readonly server = new ScriptedServer();
  readonly clock = new SteppedClock();
  readonly cache: SandboxCache;

  constructor(options: Partial<SandboxCacheOptions> = {}) {
    const deps = { client: this.server, clock: this.clock, log: recordedLog().log, random: () => 0.5 };
    this.cache = new SandboxCache(deps, { claims: claimBook(), ...options });
  }

  pod(name: string, shape: SandboxPodShape = {}): this {
    this.server.put(Pods, aSandboxPod(name, shape));
    return this;
  }

  pool(name: string, namespace = "ns"): this {
    const pool: SandboxPool = { metadata: { namespace, name }, spec: { replicas: 1, templateName: "base" } };
    this.server.put(SandboxPools, pool);
    return this;
  }

  checkpoint(name: string, more: { namespace?: string; id?: string; user?: string } = {}): Checkpoint {
    const { namespace = "ns", id, user } = more;
    return this.server.put(Checkpoints, {
      metadata: { namespace, name, ...(user === undefined ? {} : { labels: { [labelKeys.user]: user } }) },
      spec: { sandboxID: "i1" },
      ...(id === undefined ? {} : { status: { phase: "Succeeded", checkpointId: id } }),
    });
  }

  /** Claims the pod on its Lease, in the given use. */
  lease(name: string, id: string, use = 0): this {
    const labels = { [labelKeys.sandboxPhase]: "running", [labelKeys.sandboxId]: id, [labelKeys.user]: "ann" };
    const pod = aSandboxPod(name, inUse(use));
    this.server.put(Leases, leaseAbout(pod, { labels, annotations: {}, without: [] }, undefined));
    return this;
  }

  async run(): Promise<SandboxCache> {
    await this.cache.run();
    await settle();
    return this.cache;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cache.stop();
  }
}

export function inUse(use: number): SandboxPodShape {
  return { annotations: { [annotationKeys.useCount]: String(use) } };
}

export function names(objects: Iterable<ApiObject>): (string | undefined)[] {
  return [...objects].map((object) => object.metadata.name);
}
