/** What the agent asks of others. Each is as small as the agent needs it; the composition root has the real ones. */
import type { ResolvedImage } from "#images/resolved-image.ts";
import type { ObjectKey } from "#kube/object-client.ts";

/** Gives a pod its node. Ordinary writes may not: once given, a pod keeps it. */
export interface PodBinder {
  /** Fails with Conflict when the pod has a node already, and with NotFound when it is gone. */
  bind(key: ObjectKey, nodeName: string): Promise<void>;
}

export interface NodeImages {
  /** The image, ready to be mounted; fetched if the policy says so or it is not here. Many may ask for the same one at once. */
  ensure(reference: string, options: EnsureImage): Promise<ResolvedImage>;
}

export interface EnsureImage {
  readonly pullPolicy: "Always" | "IfNotPresent" | "Never";
  /** Contents of the pod's `.dockerconfigjson` secrets. */
  readonly pullSecrets: readonly string[];
  /** The team whose limit the fetched bytes count for; no team's when left out. */
  readonly team?: string | undefined;
  /** Called when something is fetched, and so not at all for an image that is here. */
  readonly onProgress?: () => void;
  readonly signal?: AbortSignal;
}

/** How the node reaches into pods from outside: for probes and hooks. */
export interface PodNetwork {
  /** The status of the answer. */
  httpGet(request: PodHttpRequest, signal: AbortSignal): Promise<number>;
  /** Resolves when a connection was made. */
  connect(address: string, port: number, signal: AbortSignal): Promise<void>;
}

export interface PodHttpRequest {
  readonly scheme: "http" | "https";
  readonly address: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}
