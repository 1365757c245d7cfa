import type { Source } from "#kube/informer/list-and-watch.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { type ConfigMap, ConfigMaps, type Secret, Secrets } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { instanceTypesConfigMapName } from "#model/instance-types.ts";
import { limitsConfigMapName } from "#model/limits.ts";
import { parseLabelSelector } from "#model/label-selector.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type SandboxTemplate, SandboxTemplates } from "#model/sandbox-template.ts";

/** Which part of the world a process looks after. */
export interface CacheScopeOptions {
  /** Sandboxes, pools and checkpoints of this namespace only. All when empty or left out. */
  readonly namespace?: string | undefined;
  /** Only objects with these labels, templates included. */
  readonly labelSelector?: string | undefined;
  /** Where Secrets and ConfigMaps of AgentBox itself live. They are not cached at all when it is empty or left out. */
  readonly systemNamespace?: string | undefined;
  /**
   * Where the limits of teams and server and the catalogue of instance types stand; in the system namespace when left out. Without both,
   * limits are the usual ones and there are no instance types.
   */
  readonly limitsNamespace?: string | undefined;
}

/** What each informer of the cache follows. */
export interface CacheScope {
  readonly pods: Source<Pod>;
  readonly pools: Source<SandboxPool>;
  readonly envs: Source<SandboxEnv>;
  readonly checkpoints: Source<Checkpoint>;
  readonly templates: Source<SandboxTemplate>;
  readonly limits: Source<ConfigMap> | undefined;
  readonly instanceTypes: Source<ConfigMap> | undefined;
  readonly system: { readonly secrets: Source<Secret>; readonly configMaps: Source<ConfigMap> } | undefined;
}

/** Throws LabelSelectorError, which says what is wrong, before anything is asked of a server. */
export function cacheScope(options: CacheScopeOptions): CacheScope {
  const labelSelector = nonEmpty(options.labelSelector);
  const namespace = nonEmpty(options.namespace);
  const systemNamespace = nonEmpty(options.systemNamespace);
  const limitsNamespace = nonEmpty(options.limitsNamespace) ?? systemNamespace;
  parseLabelSelector(labelSelector ?? "");
  return {
    // A namespace may hold other people's pods; only those of pools are ours to look at.
    pods: { type: Pods, namespace, labelSelector: [labelKeys.sandboxPool, labelSelector].filter((part) => part !== undefined).join(",") },
    pools: { type: SandboxPools, namespace, labelSelector },
    envs: { type: SandboxEnvs, namespace, labelSelector },
    checkpoints: { type: Checkpoints, namespace, labelSelector },
    templates: { type: SandboxTemplates, labelSelector },
    limits: limitsNamespace === undefined ? undefined : configMap(limitsNamespace, limitsConfigMapName),
    instanceTypes: limitsNamespace === undefined ? undefined : configMap(limitsNamespace, instanceTypesConfigMapName),
    system:
      systemNamespace === undefined
        ? undefined
        : {
            secrets: { type: Secrets, namespace: systemNamespace },
            // Keys of creates come in great numbers, and are asked of the server.
            configMaps: { type: ConfigMaps, namespace: systemNamespace, labelSelector: `!${labelKeys.idempotencyKey}` },
          },
  };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text?.trim() === "" ? undefined : text?.trim();
}

/** By its name, so that a role can be limited to this one object. */
function configMap(namespace: string, name: string): Source<ConfigMap> {
  return { type: ConfigMaps, namespace, fieldSelector: `metadata.name=${name}` };
}
