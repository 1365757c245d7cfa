/** Envs over a real object store, with the controllers of Envs, adoption, pools and pods. The node is the test. */
import { Registry } from "prom-client";
import { startAdoptionController } from "#controllers/adoption/reconcile-adoption.ts";
import type { EnvDeps } from "#controllers/env/env-deps.ts";
import { startEnvController } from "#controllers/env/reconcile-env.ts";
import type { Controller } from "#kube/controller/controller.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Events } from "#model/core-kinds.ts";
import type { Json, JsonObject } from "#model/meta.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import { PoolScene, type PoolSceneOptions } from "./pool-scene.ts";

export interface EnvSceneOptions extends PoolSceneOptions {
  readonly envs?: Partial<EnvDeps>;
  readonly adoptPools?: boolean;
}

export class EnvScene implements AsyncDisposable {
  readonly pools: PoolScene;
  readonly #controllers: readonly Controller[];

  private constructor(pools: PoolScene, { envs, adoptPools }: EnvSceneOptions) {
    this.pools = pools;
    const { cache, clock, events, logged, watched } = pools;
    const metrics = prometheusMetrics(new Registry());
    const common = { client: watched.client, cache, clock, log: logged.log, metrics, events, random: Math.random, clusterID: "local" };
    this.#controllers = [startEnvController({ ...common, ...envs }), startAdoptionController({ ...common, ...envs, adoptPools })];
  }

  static async open(options: EnvSceneOptions): Promise<EnvScene> {
    return new EnvScene(await PoolScene.open(options), options);
  }

  /** Templates belong to no namespace: its name must be a test's own. */
  async createTemplate(name: string, spec: Partial<SandboxTemplate["spec"]> = {}): Promise<SandboxTemplate> {
    const containers = [{ name: "main", image: "registry.invalid/app:1" }];
    return this.pools.client.create(SandboxTemplates, {
      metadata: { name },
      spec: { version: "v1.0.0", template: { spec: { containers } }, ...spec },
    });
  }

  async createEnv(env: {
    readonly name: string;
    readonly spec: JsonObject;
    readonly metadata?: SandboxEnv["metadata"];
  }): Promise<SandboxEnv> {
    const metadata = { ...env.metadata, ...this.pools.key(env.name) };
    return this.pools.client.create(SandboxEnvs, { metadata, spec: env.spec } as unknown as SandboxEnv);
  }

  env(name: string): Promise<SandboxEnv> {
    return this.pools.client.get(SandboxEnvs, this.pools.key(name));
  }

  async changeEnv(name: string, body: JsonObject): Promise<SandboxEnv> {
    return this.pools.client.patch(SandboxEnvs, this.pools.key(name), { type: "merge", body });
  }

  /** A list entry, as programs write it. */
  async setReplicas(name: string, member: number, replicas: Json): Promise<SandboxEnv> {
    const operations = [{ op: "replace", path: `/spec/clusters/0/members/${member}/spec/replicas`, value: replicas }] as const;
    return this.pools.client.patch(SandboxEnvs, this.pools.key(name), { type: "json", operations });
  }

  /** Events about Envs as `type reason: message`. */
  async told(): Promise<string[]> {
    await this.pools.events.written();
    const { items } = await this.pools.client.list(Events, { namespace: this.pools.namespace });
    const ofEnvs = items.filter(({ involvedObject }) => involvedObject.kind === "SandboxEnv");
    return ofEnvs.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#controllers.map((controller) => controller.stop()));
    await this.pools[Symbol.asyncDispose]();
  }
}
