/**
 * The object port over a Kubernetes API server (or the embedded one, through its unix socket).
 *
 * - `connection.ts` finds out the server and our identity: directly, from `kubeconfig.ts`, or as a pod,
 * - `credentials.ts` holds tokens and certificates and reads them again; `plugin-credentials.ts` asks programs for them,
 * - `connection-pools.ts` keeps connections, `warm-connections.ts` keeps them open, `transport.ts` sends one request, `retry.ts` decides about sending it again,
 * - `status-error.ts` turns every failure into an ApiError,
 * - `pod-access/` reads logs and runs programs in pods, over `web-socket.ts`,
 * - `field-history.ts` keeps pods cheap to write,
 * - `cluster-features.ts` finds out what the cluster can do,
 * - `resource-path.ts`, `decode-objects.ts` and `watch-events.ts` are the API's paths, objects and events.
 */
import { ApiError } from "#kube/api-error.ts";
import {
  type CallOptions,
  type DeleteOptions,
  type ListOptions,
  type ObjectClient,
  type ObjectKey,
  type ObjectList,
  type Patch,
  type Scale,
  Scales,
  type SubresourceOptions,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import type { Random } from "#lib/backoff.ts";
import { systemClock, type Clock } from "#lib/clock.ts";
import type { ApiObject } from "#model/meta.ts";
import { apiVersionOf, resourceName, type ResourceType } from "#model/resource.ts";
import { realSurroundings, resolveConnection, type Connection, type ConnectionOptions } from "./connection.ts";
import { idleMs } from "./connection-pools.ts";
import { decodeList, decodeObject, parseJson } from "./decode-objects.ts";
import { withoutFieldHistory } from "./field-history.ts";
import { KubernetesPodAccess } from "./pod-access/pod-access.ts";
import { collectionPath, creationPath, objectPath, query } from "./resource-path.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";
import { Transport, type ApiRequest } from "./transport.ts";
import { WarmConnections } from "./warm-connections.ts";
import { decodeEvent, LineBuffer } from "./watch-events.ts";

export type KubernetesClientOptions = ConnectionOptions & ClientSettings;

export interface ClientSettings {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly retries?: RetryPolicy;
  readonly requestTimeoutMs?: number;
  /** Requests at the same time, watches not counted. */
  readonly connections?: number;
  /** Keeps idle connections open: for servers, which have bursts. */
  readonly staysWarm?: boolean;
  /** Answers and single events that are larger fail. */
  readonly maxBodyBytes?: number;
  readonly userAgent?: string;
  readonly keepManagedFields?: boolean;
}

export interface KubernetesClient extends ObjectClient {
  /** The namespace that the kubeconfig's context or the pod stands in. */
  readonly namespace: string | undefined;
  /** What runs in its pods. */
  readonly pods: PodAccess;
  /** Ends watches, waits for requests under way, and refuses new ones. */
  close(): Promise<void>;
}

/** Finds the server; speaks with it only when asked something. */
export async function kubernetesClient(options: KubernetesClientOptions = {}): Promise<KubernetesClient> {
  return new HttpObjectClient(await resolveConnection(options, realSurroundings), options);
}

class HttpObjectClient implements KubernetesClient {
  readonly namespace: string | undefined;
  readonly pods: PodAccess;
  readonly #transport: Transport;
  readonly #decoding: { readonly keepManagedFields: boolean };
  readonly #maxBodyBytes: number;
  readonly #warm: WarmConnections | undefined;

  constructor(connection: Connection, settings: ClientSettings) {
    this.namespace = connection.namespace;
    this.#decoding = { keepManagedFields: settings.keepManagedFields ?? false };
    this.#maxBodyBytes = settings.maxBodyBytes ?? 256 * 1024 * 1024;
    const { clock = systemClock, connections = 16 } = settings;
    this.#transport = new Transport(connection, {
      clock,
      random: settings.random ?? Math.random,
      policy: settings.retries ?? defaultRetryPolicy,
      requestTimeoutMs: settings.requestTimeoutMs ?? 60_000,
      connections,
      maxBodyBytes: this.#maxBodyBytes,
      userAgent: settings.userAgent ?? "agentbox",
    });
    this.pods = new KubernetesPodAccess({ client: this, transport: this.#transport, clock });
    const warm = { clock, open: () => this.#transport.open, ask: () => this.#transport.send({ method: "GET", path: "/version" }) };
    if (settings.staysWarm === true) this.#warm = new WarmConnections(warm, { count: connections, idleMs });
  }

  async get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, options: CallOptions = {}): Promise<T> {
    return this.#object(type, { method: "GET", path: objectPath(type, key), signal: options.signal });
  }

  async list<T extends ApiObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { namespace, labelSelector, fieldSelector, limit, continue: from, signal } = options;
    const path = collectionPath(type, namespace) + query({ labelSelector, fieldSelector, limit, continue: from });
    const text = await this.#transport.send({ method: "GET", path, signal });
    return decodeList(type, parseJson(text, `GET ${path}`), this.#decoding);
  }

  async *watch<T extends ApiObject>(type: ResourceType<T>, options: WatchOptions = {}): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options;
    const allowWatchBookmarks = options.bookmarks === true ? true : undefined;
    const parameters = { watch: true, labelSelector, fieldSelector, resourceVersion, allowWatchBookmarks, timeoutSeconds };
    const path = collectionPath(type, namespace) + query(parameters);
    const lines = new LineBuffer(this.#maxBodyBytes);
    for await (const chunk of this.#transport.stream({ method: "GET", path, signal })) {
      for (const line of lines.push(chunk)) {
        // Events that came in one piece with others are handed out one by one; the caller may have given up in between.
        signal?.throwIfAborted();
        if (line !== "") yield decodeEvent(type, line, `watch of ${resourceName(type)}`, this.#decoding);
      }
    }
    if (lines.isCut) throw new ApiError("Unreachable", `the watch of ${resourceName(type)} was cut in the middle of an event`);
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = creationPath(type, object.metadata.namespace) + query(writeParameters(options));
    return this.#object(type, { method: "POST", path, ...jsonBody(typed(type, object)), signal: options.signal });
  }

  async update<T extends ApiObject>(type: ResourceType<T>, object: T, options: SubresourceOptions = {}): Promise<T> {
    const { name = "", namespace } = object.metadata;
    const path = objectPath(type, { name, namespace }, options.subresource) + query(writeParameters(options));
    return this.#object(type, { method: "PUT", path, ...jsonBody(typed(type, object)), signal: options.signal });
  }

  async patch<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, patch: Patch, options: SubresourceOptions = {}): Promise<T> {
    const path = objectPath(type, key, options.subresource) + query(writeParameters(options));
    return this.#object(type, { method: "PATCH", path, ...patchBody(withoutFieldHistory(type, patch)), signal: options.signal });
  }

  async delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { preconditions, propagationPolicy, gracePeriodSeconds, dryRun, signal } = options;
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions,
      propagationPolicy,
      gracePeriodSeconds,
      dryRun: dryRun === true ? ["All"] : undefined,
    };
    await this.#transport.send({ method: "DELETE", path: objectPath(type, key), ...jsonBody(body), signal });
  }

  async getScale(type: ResourceType, key: ObjectKey, options: CallOptions = {}): Promise<Scale> {
    return this.#scale({ method: "GET", path: objectPath(type, key, "scale"), signal: options.signal });
  }

  async updateScale(type: ResourceType, key: ObjectKey, scale: Scale, options: WriteOptions = {}): Promise<Scale> {
    const path = objectPath(type, key, "scale") + query(writeParameters(options));
    return this.#scale({ method: "PUT", path, ...jsonBody(typed(Scales, scale)), signal: options.signal });
  }

  async patchScale(type: ResourceType, key: ObjectKey, patch: Patch, options: WriteOptions = {}): Promise<Scale> {
    const path = objectPath(type, key, "scale") + query(writeParameters(options));
    return this.#scale({ method: "PATCH", path, ...patchBody(patch), signal: options.signal });
  }

  /** Go leaves zeros out of JSON; a scale of none is written down here. */
  async #scale(request: ApiRequest): Promise<Scale> {
    const scale: Omit<Scale, "spec"> & { readonly spec?: Partial<Scale["spec"]> } = await this.#object(Scales, request);
    return Object.freeze({ ...scale, spec: Object.freeze({ replicas: scale.spec?.replicas ?? 0 }) });
  }

  close(): Promise<void> {
    this.#warm?.close();
    return this.#transport.close();
  }

  async #object<T extends ApiObject>(type: ResourceType<T>, request: ApiRequest): Promise<T> {
    const text = await this.#transport.send(request);
    return decodeObject(type, parseJson(text, `${request.method} ${request.path}`), this.#decoding);
  }
}

function writeParameters(options: WriteOptions): Readonly<Record<string, string | undefined>> {
  const { dryRun, fieldValidation, fieldManager } = options;
  return { dryRun: dryRun === true ? "All" : undefined, fieldValidation, fieldManager };
}

/** Objects may be written without them, because the kind is said with every call; the server wants them in the text. */
function typed<T extends ApiObject>(type: ResourceType<T>, object: T): T {
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...object };
}

function jsonBody(body: object): { readonly body: string; readonly contentType: string } {
  return { body: JSON.stringify(body), contentType: "application/json" };
}

function patchBody(patch: Patch): { readonly body: string; readonly contentType: string } {
  return patch.type === "json"
    ? { body: JSON.stringify(patch.operations), contentType: "application/json-patch+json" }
    : { body: JSON.stringify(patch.body), contentType: "application/merge-patch+json" };
}
