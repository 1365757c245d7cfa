/**
 * What sandboxes may do on nodes that are not ours: as little as Kubernetes' "restricted" standard allows, wherever the template does not
 * ask for more. Our own node confines by itself, in a user namespace of each pod's own, and is told nothing of this.
 *
 * A template that names an unprivileged user and does not ask for escalation is "restricted". One that leaves the user to its image may
 * run as root, which needs some capabilities to change users and to give files away: it is "baseline".
 */
import type { PodSecurityContext, SecurityContext } from "#model/kubernetes.generated.ts";
import type { Container, PodSpec } from "#model/pod.ts";
import { rootCapabilities } from "#model/root-capabilities.ts";

/** The bounds of a container that asks for nothing. */
export const boundSecurity: SecurityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };

/** The pod with bounds wherever its template has set none. */
export function withSecurity(spec: PodSpec): PodSpec {
  const pod: PodSecurityContext = { seccompProfile: { type: "RuntimeDefault" }, ...spec.securityContext };
  const bounded = (container: Container): Container => ({ ...container, securityContext: containerSecurity(container, pod) });
  const { initContainers } = spec;
  return {
    ...spec,
    securityContext: pod,
    containers: spec.containers.map(bounded),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(bounded) }),
  };
}

/**
 * Whether the pod's users can be others than the node's. A runtime class brings its own walls, and what shares the node's namespaces or
 * devices cannot have users of its own.
 */
export function mayHaveOwnUsers(spec: PodSpec): boolean {
  const isShared = (["hostNetwork", "hostPID", "hostIPC"] as const).some((field) => spec[field] === true);
  const hasDevices = spec.containers.some(({ volumeDevices = [] }) => volumeDevices.length > 0);
  return spec.hostUsers === undefined && spec.runtimeClassName === undefined && !isShared && !hasDevices && !isPrivileged(spec);
}

function isPrivileged({ containers }: PodSpec): boolean {
  return containers.some(({ securityContext }) => securityContext?.privileged === true);
}

function containerSecurity({ securityContext: own = {} }: Container, pod: PodSecurityContext): SecurityContext {
  // The server refuses a privileged container that must not escalate, and there is nothing left to bound in one.
  if (own.privileged === true) return own;
  const user = own.runAsUser ?? pod.runAsUser;
  const isUnprivileged = user !== undefined && user > 0;
  const mayEscalate = own.allowPrivilegeEscalation === true;
  const isStated = own.runAsNonRoot !== undefined || pod.runAsNonRoot !== undefined;
  return {
    ...boundSecurity,
    ...(isUnprivileged && !mayEscalate ? {} : { capabilities: { drop: ["ALL"], add: rootCapabilities } }),
    ...(isUnprivileged && !isStated ? { runAsNonRoot: true } : {}),
    ...own,
  };
}
