/** Scenes on the embedded store, in memory, in stepped time. */
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { ClaimScene, type ClaimSceneOptions } from "./claim-scene.ts";
import { PodScene, type PodSceneOptions } from "./pod-scene.ts";
import { SteppedClock } from "./stepped-clock.ts";

type Embedded<Scene> = { readonly scene: Scene; readonly clock: SteppedClock } & AsyncDisposable;

interface World {
  readonly client: ObjectClient;
  readonly clock: SteppedClock;
  readonly namespace: string;
}

export function embeddedClaimScene(
  options: Pick<ClaimSceneOptions, "pods" | "pool" | "claimsOnLeases"> = {},
): Promise<Embedded<ClaimScene>> {
  return embedded((world) => ClaimScene.open({ ...options, ...world }));
}

export function embeddedPodScene(options: Pick<PodSceneOptions, "pool" | "claimsOnLeases"> = {}): Promise<Embedded<PodScene>> {
  return embedded((world) => PodScene.open({ ...options, ...world }));
}

async function embedded<Scene extends AsyncDisposable>(open: (world: World) => Promise<Scene>): Promise<Embedded<Scene>> {
  const clock = new SteppedClock();
  const client = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  await client.create(Namespaces, { metadata: { name: "ns" } });
  const scene = await open({ client, clock, namespace: "ns" });
  return {
    scene,
    clock,
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]();
      client.close();
    },
  };
}
