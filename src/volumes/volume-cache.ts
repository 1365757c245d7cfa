/**
 * Volumes, for the loop that gives them their data and for the services alike.
 *
 * - `volume-cache.ts`  which volumes there are, and which sandboxes use them
 * - `volume-data.ts`   gives them their data, and takes it away
 */
import { Informer, type InformerDeps } from "#kube/informer/informer.ts";
import { labelKeys } from "#model/keys.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { type SandboxVolume, SandboxVolumes } from "#model/sandbox-volume.ts";
import { volumeMountsOf } from "#model/volume-mounts.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";

/** Only where the engine has volumes: elsewhere nothing follows their objects. */
export class VolumeCache {
  readonly objects: Informer<SandboxVolume>;

  /** `namespace`: the one that the process looks after; all when left out. */
  constructor(deps: InformerDeps, { namespace }: { readonly namespace?: string | undefined } = {}) {
    this.objects = new Informer(deps, { type: SandboxVolumes, namespace });
  }

  async run(signal?: AbortSignal): Promise<void> {
    this.objects.start();
    await this.objects.whenSynced(signal);
  }

  stop(): Promise<void> {
    return this.objects.stop();
  }

  list(): IteratorObject<SandboxVolume, undefined> {
    return this.objects.objects.list();
  }

  /** How many a team, one user of it, or all have; those that are being deleted have their data still. */
  count(team?: string, user?: string): number {
    return this.#of(team, user).reduce((sum) => sum + 1, 0);
  }

  sizeMiB(team?: string, user?: string): number {
    return this.#of(team, user).reduce((sum, { spec }) => sum + spec.sizeMiB, 0);
  }

  #of(team: string | undefined, user: string | undefined): IteratorObject<SandboxVolume, undefined> {
    return this.list().filter(
      ({ metadata: { labels } }) =>
        (team === undefined || labels?.[labelKeys.team] === team) && (user === undefined || labels?.[labelKeys.user] === user),
    );
  }
}

/** The sandboxes that have the volume mounted, or are about to. */
export function sandboxesWith(cache: Pick<SandboxCache, "listSandboxes">, volumeUid: string): readonly string[] {
  return cache
    .listSandboxes()
    .filter((pod) => volumeMountsOf(pod).some(({ uid }) => uid === volumeUid))
    .map((pod) => sandboxIdOf(pod) ?? "")
    .toArray();
}
