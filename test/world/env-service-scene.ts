/** The use cases of Envs over the embedded store, with a template `base` that every caller sees and plugins that a test chooses. */
import type { ObjectMeta } from "#model/meta.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { EnvBody, EnvDeps, LocalCluster } from "#services/envs/env-deps.ts";
import { type EnvService, envService } from "#services/envs/env-service.ts";
import { AdmissionPace } from "#services/limits/admission-pace.ts";
import { countUse } from "#services/limits/count-use.ts";
import { LimitGuard } from "#services/limits/limit-guard.ts";
import { ServiceScene } from "./service-scene.ts";

export const never = new AbortController().signal;
export const baseImage = "registry.invalid/app:1";

export interface EnvSceneOptions {
  readonly plugins?: Pick<PluginChain, "preCreatePool">;
  readonly cluster?: LocalCluster;
  readonly client?: (scene: ServiceScene) => EnvDeps["client"];
}

export class EnvScene implements AsyncDisposable {
  readonly scene: ServiceScene;
  readonly envs: EnvService;

  private constructor(scene: ServiceScene, envs: EnvService) {
    this.scene = scene;
    this.envs = envs;
  }

  static async open({ plugins, cluster = { engine: "embedded", id: "local" }, client }: EnvSceneOptions = {}): Promise<EnvScene> {
    const scene = await ServiceScene.open();
    const { cache, namespace } = scene;
    const limits = new LimitGuard({ cache, use: countUse(cache) });
    const pace = new AdmissionPace({ limits, clock: scene.clock });
    const opened = new EnvScene(
      scene,
      envService({ client: client?.(scene) ?? scene.client, cache, namespace, cluster, plugins, limits, pace }),
    );
    await opened.template({ name: "base" }, {});
    return opened;
  }

  /** Makes the template, or replaces it. */
  async template(metadata: ObjectMeta, spec: Partial<SandboxTemplate["spec"]>): Promise<void> {
    const { client, cache } = this.scene;
    const whole = { template: { spec: { containers: [{ name: "main", image: baseImage }] } }, ...spec };
    const present = cache.templates.objects.get({ name: metadata.name ?? "" });
    const written =
      present === undefined
        ? await client.create(SandboxTemplates, { metadata, spec: whole })
        : await client.update(SandboxTemplates, { ...present, spec: whole });
    cache.templates.remember(written);
  }

  async stored(name: string): Promise<SandboxEnv> {
    return await this.scene.client.get(SandboxEnvs, { namespace: this.scene.namespace, name });
  }

  /** As another writer changes it, unseen by the cache. */
  async changeBehind(name: string, change: (env: SandboxEnv) => SandboxEnv): Promise<void> {
    await this.scene.client.update(SandboxEnvs, change(await this.stored(name)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.scene[Symbol.asyncDispose]();
  }
}

/** An Env with one member of the size that is asked for, unless told otherwise. */
export function anEnvBody(name: string, more: Partial<EnvBody> = {}, spec: Partial<SandboxEnv["spec"]> = {}): EnvBody {
  return {
    metadata: { name },
    spec: { templateRef: { name: "base" }, mode: "WarmPool", ...spec },
    members: [{ config: { inlineResources: { limits: { cpu: 2, memory: "4Gi" } } } }],
    ...more,
  };
}

export function autoscaled(minReplicas: number, maxReplicas: number): NonNullable<SandboxEnv["spec"]["autoscaling"]> {
  return { groups: [{ name: "default", enabled: true, minReplicas, maxReplicas }] };
}
