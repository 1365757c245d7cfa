/** The ConfigMaps and Secrets that a container is made from. Read when it is made; a running container keeps what it got. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps, type Secret, Secrets } from "#model/core-kinds.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { Volume, VolumeProjection } from "#model/kubernetes.generated.ts";
import type { NodePod } from "../node-pod.ts";

/** By name; those that do not exist are left out. */
export interface Sources {
  readonly configMaps: ReadonlyMap<string, ConfigMap>;
  readonly secrets: ReadonlyMap<string, Secret>;
}

interface Names {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

export async function readSources(client: ObjectClient, pod: NodePod, container: StoredContainer, signal: AbortSignal): Promise<Sources> {
  const { configMaps, secrets } = namesIn(pod, container);
  const { namespace } = pod.metadata;
  return {
    configMaps: await found(configMaps, (name) => client.get(ConfigMaps, { namespace, name }, { signal })),
    secrets: await found(secrets, (name) => client.get(Secrets, { namespace, name }, { signal })),
  };
}

async function found<T>(names: ReadonlySet<string>, get: (name: string) => Promise<T>): Promise<ReadonlyMap<string, T>> {
  const objects = new Map<string, T>();
  for (const name of names) {
    try {
      objects.set(name, await get(name));
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
  }
  return objects;
}

function namesIn(pod: NodePod, container: StoredContainer): Names {
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  const volumes = (pod.spec.volumes ?? []).filter(({ name }) => mounted.has(name));
  const env = (container.env ?? []).map(({ valueFrom }) => valueFrom);
  const envFrom = container.envFrom ?? [];
  return {
    configMaps: given([
      ...env.map((from) => from?.configMapKeyRef?.name),
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
      ...volumes.flatMap((volume) => projections(volume).map(({ configMap }) => configMap?.name)),
    ]),
    secrets: given([
      ...env.map((from) => from?.secretKeyRef?.name),
      ...envFrom.map(({ secretRef }) => secretRef?.name),
      ...volumes.flatMap((volume) => projections(volume).map(({ secret }) => secret?.name)),
    ]),
  };
}

function given(all: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(all.flatMap((name) => (name === undefined || name === "" ? [] : [name])));
}

/** A volume of one source is a projection of one source. */
export function projections({ configMap, secret, downwardAPI, projected }: Volume): readonly VolumeProjection[] {
  return [
    ...(configMap === undefined ? [] : [{ configMap }]),
    ...(secret === undefined ? [] : [{ secret: { ...secret, name: secret.secretName ?? "" } }]),
    ...(downwardAPI === undefined ? [] : [{ downwardAPI }]),
    ...(projected?.sources ?? []),
  ];
}
