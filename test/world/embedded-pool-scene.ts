import type { PoolDeps } from "#controllers/pool/pool-deps.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { podCondition } from "#model/claimed-pod.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { PoolScene, type PoolSceneOptions } from "./pool-scene.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";

export interface EmbeddedPoolScene extends AsyncDisposable {
  readonly scene: PoolScene;
  readonly clock: SteppedClock;
  /** The process ends, and another one comes; the scene is its. */
  restart(): Promise<void>;
  /** Lets everything happen that needs no time. */
  quiet(): Promise<void>;
  /** The same, with a node that makes every pod ready at once. */
  filled(): Promise<void>;
}

/** A scene on the embedded store, in memory, in stepped time. */
export async function embeddedPoolScene(
  pools: Partial<PoolDeps> = {},
  { claimsOnLeases }: Pick<PoolSceneOptions, "claimsOnLeases"> = {},
): Promise<EmbeddedPoolScene> {
  const clock = new SteppedClock();
  const client = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  await client.create(Namespaces, { metadata: { name: "ns" } });
  const open = (): Promise<PoolScene> => PoolScene.open({ client, clock, namespace: "ns", pools: { random, ...pools }, claimsOnLeases });
  const random = seeded();
  let scene = await open();
  const quiet = async (): Promise<void> => {
    for (let before = -1; before !== scene.watched.calls.length; await settle()) {
      before = scene.watched.calls.length;
      await settle();
    }
  };
  const filled = async (): Promise<void> => {
    for (;;) {
      await quiet();
      const unready = (await scene.pods()).filter((pod) => podCondition(pod, "Ready")?.status !== "True");
      if (unready.length === 0) return;
      for (const pod of unready) await scene.nodeReports(pod);
    }
  };
  return {
    get scene() {
      return scene;
    },
    clock,
    restart: async () => {
      await scene[Symbol.asyncDispose]();
      scene = await open();
    },
    quiet,
    filled,
    [Symbol.asyncDispose]: async () => {
      await scene[Symbol.asyncDispose]();
      client.close();
    },
  };
}

/** The same names and waiting times in every run. */
function seeded(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
