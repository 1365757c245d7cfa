import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { ClaimScene, type ClaimSceneOptions } from "./claim-scene.ts";
import { SteppedClock } from "./stepped-clock.ts";

/** A scene on the embedded store, in memory, in stepped time. */
export async function embeddedClaimScene(
  options: Pick<ClaimSceneOptions, "pods" | "pool" | "claimsOnLeases"> = {},
): Promise<{ readonly scene: ClaimScene; readonly clock: SteppedClock } & AsyncDisposable> {
  const clock = new SteppedClock();
  const client = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  await client.create(Namespaces, { metadata: { name: "ns" } });
  const scene = await ClaimScene.open({ ...options, client, clock, namespace: "ns" });
  return {
    scene,
    clock,
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]();
      client.close();
    },
  };
}
