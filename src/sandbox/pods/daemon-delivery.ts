/**
 * How the daemon comes into a pod. Our own node brings it along; a kubelet is told in the pod: by an image that is mounted as a volume,
 * or, where a cluster does not know such volumes, by an init container that copies it into a folder of the pod (docs/kubernetes-pods.md).
 */
import { daemonCommand, daemonPath } from "#model/daemon-command.ts";
import type { Container, PodSpec, Volume } from "#model/pod.ts";
import type { PoolDaemonDelivery } from "#model/sandbox-pool.ts";
import { boundSecurity } from "./pod-security.ts";

export type DaemonDelivery = { readonly kind: "node" } | { readonly kind: "image-volume" | "init-container"; readonly image: string };

/** What every pod is made with, whatever its template says. */
export interface DaemonSettings {
  /** The control plane's public key in base64, which the daemon checks orders with. */
  readonly publicKey: string;
  /** Asked whenever it is needed: a cluster learns something new while we run. Left out: the node brings the daemon. */
  readonly delivery?: (() => DaemonDelivery) | undefined;
}

export function deliveryOf({ delivery }: Pick<DaemonSettings, "delivery">): DaemonDelivery {
  return delivery?.() ?? { kind: "node" };
}

/** As a pool's status has it; undefined where there is no choice. */
export function deliveryName({ kind }: DaemonDelivery): PoolDaemonDelivery | undefined {
  return kind === "node" ? undefined : kind === "image-volume" ? "ImageVolume" : "InitContainer";
}

const volumeName = "agentbox-daemon";

/** Why a template's pod has no place for the daemon; undefined when it has. */
export function whyNoPlace(spec: PodSpec): string | undefined {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  const mounting = containers.find(({ volumeMounts = [] }) => volumeMounts.some(({ name, mountPath }) => isOurs(name, mountPath)));
  if (mounting !== undefined) return `container "${mounting.name}" mounts something at ${daemonPath}, where AgentBox's daemon goes`;
  const isNamed = containers.some(({ name }) => name === volumeName) || (spec.volumes ?? []).some(({ name }) => name === volumeName);
  return isNamed ? `the name ${volumeName} is AgentBox's own, for a container and for a volume` : undefined;
}

function isOurs(name: string, mountPath: string): boolean {
  const folder = mountPath.replace(/\/+$/, "");
  return name === volumeName || folder === daemonPath || folder.startsWith(`${daemonPath}/`);
}

/** The pod with the daemon in its first container, which is the sandbox. */
export function withDaemonDelivered(spec: PodSpec, delivery: DaemonDelivery, keepsCommand: boolean): PodSpec {
  const [first, ...others] = spec.containers;
  if (delivery.kind === "node" || first === undefined) return spec;
  const { volume, initContainers } = delivery.kind === "image-volume" ? mounted(delivery.image) : copied(delivery.image, first);
  const init = [...initContainers, ...(spec.initContainers ?? [])];
  return {
    ...spec,
    volumes: [...(spec.volumes ?? []), volume],
    ...(init.length === 0 ? {} : { initContainers: init }),
    containers: [startedByDaemon(first, keepsCommand), ...others],
  };
}

/** As arguments and not as a variable: so the kubelet fills in the variables of a command one by one, and none of them breaks it. */
function startedByDaemon({ command = [], args = [], volumeMounts = [], ...container }: Container, keepsCommand: boolean): Container {
  const own = keepsCommand ? [...command, ...args] : [];
  return {
    ...container,
    command: daemonCommand,
    ...(own.length === 0 ? {} : { args: own }),
    // Read-only in both forms: what a sandbox could change there would run in the next one (I2).
    volumeMounts: [...volumeMounts, { name: volumeName, mountPath: daemonPath, readOnly: true }],
  };
}

interface Brought {
  readonly volume: Volume;
  readonly initContainers: readonly Container[];
}

function mounted(image: string): Brought {
  return { volume: { name: volumeName, image: { reference: image, pullPolicy: "IfNotPresent" } }, initContainers: [] };
}

const target = "/target";
const installCommand: readonly string[] = ["/lib/ld.so", "--library-path", "/lib", "/node", "/install.cjs", target];
/** An unprivileged user: it reads world-readable files and writes into a world-writable folder. */
const installer = 65_532;

/** With the sandbox's own resources: they are there anyway, and the pod's quality of service stays what its template makes it. */
function copied(image: string, { resources }: Container): Brought {
  const container: Container = {
    name: volumeName,
    image,
    imagePullPolicy: "IfNotPresent",
    command: installCommand,
    ...(resources === undefined ? {} : { resources }),
    volumeMounts: [{ name: volumeName, mountPath: target }],
    securityContext: { ...boundSecurity, runAsUser: installer, runAsGroup: installer, runAsNonRoot: true, readOnlyRootFilesystem: true },
  };
  return { volume: { name: volumeName, emptyDir: {} }, initContainers: [container] };
}
