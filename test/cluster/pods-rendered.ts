/** Pods as a pool makes them, on the real kubelet, with what the control plane does to them: arm, run something in, exchange images. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { inject, onTestFinished } from "vitest";
import type { DaemonClient, DaemonHealth } from "#daemon-client/daemon-client.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import type { ExecCommand } from "#kube/pod-access.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { type Container, type Pod, Pods, type PodSpec } from "#model/pod.ts";
import type { DaemonDelivery } from "#sandbox/pods/daemon-delivery.ts";
import { pinImage } from "#sandbox/images/image-pin.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";
import { daemonPortOf } from "#sandbox/pods/runtimes.ts";
import { imageOf } from "../world/image-fixture.ts";
import { pushImage } from "../world/push-image.ts";
import { until } from "./cluster-under-test.ts";
import { digestOfTag } from "./digest-of-tag.ts";
import { systemImage } from "./system-world.ts";

export function ourImage(name: "agentbox-daemon" | "agentbox-base"): string {
  return systemImage(inject("cluster"), name);
}

/** Nothing but one static program: no libraries, no users, no shell. */
export function bareImage(name: string): Promise<string> {
  const program = { name: "busybox", mode: 0o755, content: readFileSync("/usr/bin/busybox") };
  return pushImage(inject("cluster").registry, name, imageOf([[program]]));
}

export interface Wishes {
  readonly image: string;
  readonly delivery: DaemonDelivery["kind"];
  readonly container?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Ran {
  readonly out: string;
  readonly errors: string;
  readonly code: number;
}

export class RenderedPods {
  readonly client: KubernetesClient;
  readonly daemons: DaemonClient;
  readonly namespace: string;
  readonly #publicKey: string;

  private constructor(client: KubernetesClient, namespace: string) {
    const { privateKey } = generateKeyPairSync("ed25519");
    const http = openPodHttp();
    onTestFinished(() => http.close());
    this.client = client;
    this.namespace = namespace;
    this.daemons = httpDaemonClient({ http, privateKey });
    this.#publicKey = publicKeyText(privateKey);
  }

  /** In a namespace of their own; they go with the test. */
  static async open(): Promise<RenderedPods> {
    const client = await kubernetesClient({ kubeconfig: inject("cluster").kubeconfig });
    const namespace = `test-${randomUUID().slice(0, 8)}`;
    await client.create(Namespaces, { metadata: { name: namespace } });
    onTestFinished(async () => {
      await client.delete(Namespaces, { name: namespace });
      await client.close();
    });
    return new RenderedPods(client, namespace);
  }

  async create(wishes: Wishes): Promise<Pod> {
    const made = await this.render(wishes);
    // The server refuses pods in a namespace that has no account yet.
    return until(() => this.client.create(Pods, made));
  }

  /** Without what a pool controller, should one run in the cluster, would take for its own or would have to take off again. */
  async render({ image, delivery, container = {}, spec = {}, annotations = {} }: Wishes): Promise<Pod> {
    const containers = [{ name: "main", image, ...container }];
    const template = {
      podCreationImagePolicy: "PoolDefaultImage",
      template: { metadata: { annotations }, spec: { containers, ...spec } },
    } as const;
    const rendered = renderPod({
      pool: { metadata: { namespace: this.namespace, name: "py", uid: randomUUID() }, spec: { replicas: 1 } },
      template,
      name: `py-${randomUUID().slice(0, 8)}`,
      digests: { [image]: await digestOfTag(image) },
      publicKey: this.#publicKey,
      delivery: () => (delivery === "node" ? { kind: "node" } : { kind: delivery, image: ourImage("agentbox-daemon") }),
    });
    if (rendered.kind !== "pod") throw new Error(JSON.stringify(rendered));
    const { ownerReferences: _owner, finalizers: _finalizers, labels: _labels, ...metadata } = rendered.pod.metadata;
    return { ...rendered.pod, metadata, spec: { ...rendered.pod.spec, terminationGracePeriodSeconds: 1 } };
  }

  /** And its daemon answers, if it has one: a container counts as ready a moment before. */
  async ready(pod: Pod, when: (pod: Pod) => boolean = () => true): Promise<Pod> {
    return until(async () => {
      const seen = await this.read(pod);
      const isReady = seen.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
      if (!isReady || !when(seen)) throw new Error(`${pod.metadata.name} is not there yet: ${JSON.stringify(seen.status)}`);
      if (seen.spec.volumes?.some(({ name }) => name === "agentbox-daemon") === true) await this.health(seen);
      return seen;
    });
  }

  read({ metadata: { name = "" } }: Pod): Promise<Pod> {
    return this.client.get(Pods, { namespace: this.namespace, name });
  }

  health(pod: Pod): Promise<DaemonHealth> {
    return this.daemons.health(addressOf(pod));
  }

  async arm(pod: Pod, sandboxId: string): Promise<void> {
    const { podUid, bootId } = await this.health(pod);
    await this.daemons.init(addressOf(pod), { podUid, bootId, sandboxId, body: { envVars: { GREETING: "hello" } } });
  }

  async run(pod: Pod, command: ExecCommand, input = ""): Promise<Ran> {
    const session = await this.client.pods.exec({ pod: { namespace: this.namespace, name: pod.metadata.name ?? "" }, command });
    session.stdin.end(input);
    const [out, errors, code] = await Promise.all([text(session.stdout), text(session.stderr), session.exitCode]);
    return { out, errors, code };
  }

  /** The first container on another image, written for the pod's nth use. */
  async swap(pod: Pod, image: string, use: number): Promise<void> {
    const pinned = pinImage(image, await digestOfTag(image), use);
    const operations = [{ op: "replace" as const, path: "/spec/containers/0/image", value: pinned }];
    const { name = "" } = pod.metadata;
    await this.client.patch(Pods, { namespace: this.namespace, name }, { type: "json", operations });
  }
}

function addressOf(pod: Pod): { readonly ip: string; readonly port: number } {
  return { ip: pod.status?.podIP ?? "", port: daemonPortOf(pod) };
}
