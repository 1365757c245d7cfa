/** A container as the agent would tell the runtime of it, from as little as a test wants to say. */
import type { PodFacts } from "#engines/embedded/node/agent/container/field-value.ts";
import { renderContainer } from "#engines/embedded/node/agent/container/render-container.ts";
import type { Sources } from "#engines/embedded/node/agent/container/sources.ts";
import type { StoredContainer, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { NodePod } from "#engines/embedded/node/agent/node-pod.ts";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import type { ImageConfig } from "#images/image-config.ts";
import type { ObjectMeta } from "#model/meta.ts";

export interface Written {
  readonly container?: Partial<StoredContainer>;
  readonly spec?: Partial<StoredPodSpec>;
  readonly metadata?: Partial<ObjectMeta>;
  readonly image?: Partial<ImageConfig>;
  readonly configMaps?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly binary?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export function factsOf({ container, spec, metadata }: Written): PodFacts & { readonly container: StoredContainer } {
  const own: StoredContainer = {
    name: "main",
    image: "registry.invalid/app:1",
    resources: {},
    terminationMessagePolicy: "File",
    ...container,
  };
  const pod: NodePod = {
    metadata: { name: "box", namespace: "ns", uid: "uid-1", ...metadata },
    spec: {
      containers: [own],
      restartPolicy: "Always",
      terminationGracePeriodSeconds: 30,
      dnsPolicy: "ClusterFirst",
      schedulerName: "default-scheduler",
      securityContext: {},
      nodeName: "node-1",
      ...spec,
    },
    status: {},
  };
  const capacity = { cpu: "8", memory: "1073741824", "ephemeral-storage": "0" };
  return { pod, container: own, podIP: "10.88.0.2", hostIP: "192.0.2.1", capacity };
}

export function sourcesOf({ configMaps = {}, binary = {}, secrets = {} }: Written): Sources {
  const encoded = (data: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
  const names = new Set([...Object.keys(configMaps), ...Object.keys(binary)]);
  return {
    configMaps: new Map(
      [...names].map((name) => [name, { metadata: { name }, data: configMaps[name] ?? {}, binaryData: encoded(binary[name] ?? {}) }]),
    ),
    secrets: new Map(Object.entries(secrets).map(([name, data]) => [name, { metadata: { name }, data: encoded(data) }])),
  };
}

export function rendered(written: Written): ContainerPlan {
  const { container, ...facts } = factsOf(written);
  const config = { env: ["PATH=/image/bin", "FROM=image"], entrypoint: ["/entry"], cmd: ["default"], user: "", workingDir: "", labels: {} };
  return renderContainer({
    facts,
    container,
    id: "f".repeat(64),
    attempt: 2,
    image: {
      kind: "oci",
      id: `sha256:${"1".repeat(64)}`,
      digest: `sha256:${"2".repeat(64)}`,
      config: { ...config, ...written.image },
      layers: [],
    },
    sources: sourcesOf(written),
    logFile: "/logs/2.log",
    controlPlaneKey: "the key",
  });
}
