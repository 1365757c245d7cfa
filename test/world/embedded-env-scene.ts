/** Envs on the embedded store in memory and in stepped time, with the controllers of Envs, pools and pods. */
import { Registry } from "prom-client";
import type { EnvDeps } from "#controllers/env/env-deps.ts";
import { startEnvController } from "#controllers/env/reconcile-env.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { JsonObject } from "#model/meta.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { type EmbeddedPoolScene, embeddedPoolScene } from "./embedded-pool-scene.ts";
import { shellEnv, type EnvShape } from "./env-objects.ts";
import { ToldPressure } from "./scaling-scene.ts";

export interface EmbeddedEnvScene extends AsyncDisposable {
  readonly world: EmbeddedPoolScene;
  readonly pressure: ToldPressure;
  /** What the controller works with. */
  readonly deps: EnvDeps;
  /** Env and template are called shell; the template has one container. */
  createEnv(shape?: EnvShape): Promise<void>;
  env(): Promise<SandboxEnv>;
  changeEnv(body: JsonObject): Promise<void>;
  /** How often the status of the Env was written. */
  statusWrites(): number;
}

export async function embeddedEnvScene(envs: Partial<EnvDeps> = {}): Promise<EmbeddedEnvScene> {
  const pressure = new ToldPressure();
  const world = await embeddedPoolScene({ pressure, clusterID: "local" });
  const { scene, clock } = world;
  const deps: EnvDeps = {
    client: scene.watched.client,
    cache: scene.cache,
    clock,
    log: scene.logged.log,
    metrics: prometheusMetrics(new Registry()),
    events: scene.events,
    random: () => 0.5,
    clusterID: "local",
    pressure,
    ...envs,
  };
  const controller = startEnvController(deps);
  const key = scene.key("shell");
  return {
    world,
    pressure,
    deps,
    createEnv: async (shape = {}) => {
      const containers = [{ name: "main", image: "registry.invalid/app:1" }];
      await scene.client.create(SandboxTemplates, {
        metadata: { name: "shell" },
        spec: { version: "v1.0.0", template: { spec: { containers } } },
      });
      await scene.client.create(SandboxEnvs, { ...shellEnv(shape), metadata: { ...shape.metadata, ...key } });
      await world.filled();
    },
    env: () => scene.client.get(SandboxEnvs, key),
    changeEnv: async (body) => {
      await scene.client.patch(SandboxEnvs, key, { type: "merge", body });
    },
    statusWrites: () => scene.watched.calls.filter(({ verb, of }) => verb === "patch" && of === "sandboxenvs/status").length,
    [Symbol.asyncDispose]: async () => {
      await controller.stop();
      await world[Symbol.asyncDispose]();
    },
  };
}
