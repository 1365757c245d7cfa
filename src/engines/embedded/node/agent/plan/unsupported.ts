/**
 * What a pod may say and this node cannot do. Whatever changes what a container may do or see is refused, never ignored: a
 * sandbox that silently lacks what its template asks for would be found out by its user. Wishes about where to run that
 * one machine fulfils by itself (tolerations, preferred affinity) are not here.
 */
import { labelKeys } from "#model/keys.ts";
import type { Handler, StoredContainer, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { Volume } from "#model/kubernetes.generated.ts";
import type { NodePod } from "../node-pod.ts";
import { isStopSignal } from "./stop-container.ts";

/** Each entry names a field. */
export function unsupported(pod: NodePod): readonly string[] {
  const { spec } = pod;
  const daemonContainer = pod.metadata.labels?.[labelKeys.sandboxPool] === undefined ? undefined : spec.containers[0]?.name;
  return [
    ...podFields(spec),
    ...podSecurity(spec),
    ...(spec.volumes ?? []).flatMap((volume, index) => volumeFields(volume, `spec.volumes[${index}]`)),
    ...(spec.initContainers ?? []).flatMap((container, index) => [
      ...(container.restartPolicy === undefined ? [] : [`spec.initContainers[${index}].restartPolicy`]),
      ...containerFields(container, `spec.initContainers[${index}]`, false),
    ]),
    ...spec.containers.flatMap((container, index) =>
      containerFields(container, `spec.containers[${index}]`, container.name === daemonContainer),
    ),
  ];
}

/** The names of those that are true. */
function named(path: string, facts: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(facts).flatMap(([field, isSo]) => (isSo ? [`${path}.${field}`] : []));
}

const has = (list: readonly unknown[] | undefined): boolean => (list ?? []).length > 0;

function podFields(spec: StoredPodSpec): readonly string[] {
  return named("spec", {
    hostNetwork: spec.hostNetwork === true,
    hostPID: spec.hostPID === true,
    hostIPC: spec.hostIPC === true,
    shareProcessNamespace: spec.shareProcessNamespace === true,
    ephemeralContainers: has(spec.ephemeralContainers),
    setHostnameAsFQDN: spec.setHostnameAsFQDN === true,
    "dnsPolicy None": spec.dnsPolicy === "None",
    dnsConfig: spec.dnsConfig !== undefined,
    hostAliases: has(spec.hostAliases),
    resourceClaims: has(spec.resourceClaims),
    resources: Object.keys({ ...spec.resources?.limits, ...spec.resources?.requests }).length > 0,
    os: spec.os !== undefined && spec.os.name !== "linux",
  });
}

function podSecurity({ securityContext }: StoredPodSpec): readonly string[] {
  const path = "spec.securityContext";
  return [
    ...commonSecurity(securityContext, path),
    ...named(path, {
      fsGroup: isForeignId(securityContext.fsGroup),
      supplementalGroups: (securityContext.supplementalGroups ?? []).some(isForeignId),
      sysctls: has(securityContext.sysctls),
      "supplementalGroupsPolicy Strict": securityContext.supplementalGroupsPolicy === "Strict",
    }),
  ];
}

/** Users and groups of a pod are numbered in a range of its own. */
const idsOfPod = 65_536;

function isForeignId(id: number | undefined): boolean {
  return id !== undefined && id >= idsOfPod;
}

function isOther(profile: { readonly type: string } | undefined): boolean {
  return profile !== undefined && profile.type !== "RuntimeDefault";
}

function commonSecurity(context: NonNullable<StoredContainer["securityContext"]>, path: string): readonly string[] {
  return named(path, {
    runAsUser: isForeignId(context.runAsUser),
    runAsGroup: isForeignId(context.runAsGroup),
    seccompProfile: isOther(context.seccompProfile),
    appArmorProfile: isOther(context.appArmorProfile),
    seLinuxOptions: context.seLinuxOptions !== undefined,
    windowsOptions: context.windowsOptions !== undefined,
  });
}

const volumeSources: ReadonlySet<string> = new Set(["name", "emptyDir", "configMap", "secret", "downwardAPI", "projected"]);

function volumeFields(volume: Volume, path: string): readonly string[] {
  const other = Object.keys(volume).filter((source) => !volumeSources.has(source));
  const medium = volume.emptyDir?.medium ?? "";
  return [
    ...other.map((source) => `${path}.${source}`),
    ...(["", "Memory"].includes(medium) ? [] : [`${path}.emptyDir.medium ${medium}`]),
    ...(volume.projected?.sources ?? []).flatMap((source, index) =>
      Object.keys(source)
        .filter((name) => !["configMap", "secret", "downwardAPI"].includes(name))
        .map((name) => `${path}.projected.sources[${index}].${name}`),
    ),
  ];
}

function containerFields(container: StoredContainer, path: string, runsDaemon: boolean): readonly string[] {
  const context = container.securityContext ?? {};
  const { lifecycle } = container;
  return [
    ...named(path, {
      volumeDevices: has(container.volumeDevices),
      restartPolicyRules: has(container.restartPolicyRules),
      // A daemon reads nothing, and terminals are opened in it, not attached to it.
      stdin: container.stdin === true && !runsDaemon,
      tty: container.tty === true && !runsDaemon,
      "ports with a hostPort": (container.ports ?? []).some(({ hostPort }) => (hostPort ?? 0) > 0),
      "env with a fileKeyRef": (container.env ?? []).some(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined),
      "lifecycle.stopSignal": lifecycle?.stopSignal !== undefined && !isStopSignal(lifecycle.stopSignal),
    }),
    ...named(`${path}.securityContext`, {
      privileged: context.privileged === true,
      "procMount Unmasked": context.procMount === "Unmasked",
    }),
    ...commonSecurity(context, `${path}.securityContext`),
    ...resourceFields(container, `${path}.resources`),
    ...mountFields(container, `${path}.volumeMounts`),
    ...(["startupProbe", "livenessProbe", "readinessProbe"] as const).flatMap((probe) =>
      handlerFields(container[probe], `${path}.${probe}`),
    ),
    ...(["postStart", "preStop"] as const).flatMap((hook) => [
      ...handlerFields(lifecycle?.[hook], `${path}.lifecycle.${hook}`),
      ...(lifecycle?.[hook]?.tcpSocket === undefined ? [] : [`${path}.lifecycle.${hook}.tcpSocket`]),
    ]),
  ];
}

const resources: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage"]);

function resourceFields({ resources: { limits, requests } }: StoredContainer, path: string): readonly string[] {
  const names = new Set(Object.keys({ ...limits, ...requests }));
  return [...names].filter((name) => !resources.has(name)).map((name) => `${path} ${name}`);
}

function mountFields({ volumeMounts = [] }: StoredContainer, path: string): readonly string[] {
  return volumeMounts.flatMap((mount, index) =>
    named(`${path}[${index}]`, {
      subPath: (mount.subPath ?? "") !== "",
      subPathExpr: (mount.subPathExpr ?? "") !== "",
      mountPropagation: (mount.mountPropagation ?? "None") !== "None",
    }),
  );
}

/** Probes and hooks ask the pod itself: one that named another host would make the node ask on its behalf. */
function handlerFields(handler: Handler | undefined, path: string): readonly string[] {
  if (handler === undefined) return [];
  return named(path, {
    grpc: handler.grpc !== undefined,
    "httpGet.host": (handler.httpGet?.host ?? "") !== "",
    "tcpSocket.host": (handler.tcpSocket?.host ?? "") !== "",
  });
}
