/** The user and the rights that a container runs with. The container's settings override the pod's, and both override the image's. */
import type { ContainerSecurity } from "../../pod-runtime.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { NodePod } from "../node-pod.ts";
import { RenderError } from "./render-error.ts";

export function containerSecurity(
  { spec }: NodePod,
  { name, securityContext = {} }: StoredContainer,
  imageUser: string,
): ContainerSecurity {
  const { securityContext: pod } = spec;
  const user = userOf({ user: securityContext.runAsUser ?? pod.runAsUser, group: securityContext.runAsGroup ?? pod.runAsGroup }, imageUser);
  if ((securityContext.runAsNonRoot ?? pod.runAsNonRoot) === true) refuseRoot(name, user);
  const groups = [...(pod.supplementalGroups ?? []), ...(pod.fsGroup === undefined ? [] : [pod.fsGroup])];
  return {
    user,
    supplementalGroups: [...new Set(groups)],
    addCapabilities: (securityContext.capabilities?.add ?? []).map(capability),
    dropCapabilities: (securityContext.capabilities?.drop ?? []).map(capability),
    readOnlyRootFilesystem: securityContext.readOnlyRootFilesystem === true,
    allowPrivilegeEscalation: securityContext.allowPrivilegeEscalation !== false,
  };
}

function userOf(wanted: { readonly user: number | undefined; readonly group: number | undefined }, imageUser: string): string {
  const [imageName = "", imageGroup] = (imageUser === "" ? "0" : imageUser).split(":");
  const user = wanted.user === undefined ? imageName : String(wanted.user);
  // The image's group belongs to the image's user.
  const group = wanted.group === undefined ? (wanted.user === undefined ? imageGroup : undefined) : String(wanted.group);
  return group === undefined ? user : `${user}:${group}`;
}

function refuseRoot(container: string, user: string): void {
  const [name = ""] = user.split(":");
  if (!/^\d+$/.test(name)) {
    throw new RenderError(
      "config",
      `container ${container} must not run as root, and whether the user "${name}" of its image is root cannot be told from its name; set runAsUser`,
    );
  }
  if (Number(name) === 0) throw new RenderError("config", `container ${container} must not run as root, but its user is 0; set runAsUser`);
}

/** `NET_ADMIN` and `CAP_NET_ADMIN` are the same; ALL is no capability of its own. */
function capability(written: string): string {
  const name = written.toUpperCase();
  return name === "ALL" || name.startsWith("CAP_") ? name : `CAP_${name}`;
}
