/**
 * Container runtimes that accept no tag beside a digest. There, images are written with their digest alone, and pods are deleted after their use:
 * exchanging back to a text that the kubelet has seen before would be delayed by minutes (image-pin.ts). The form of a pod's image references shows which
 * case applies, so no other setting is needed.
 */
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { isDigestAlone } from "./image-pin.ts";

/** What runtimes and kubelets say of a reference that they do not understand. */
const notUnderstood = /both a tag and (a )?digest|invalid reference format|could(n't| not) parse (the )?(image|reference)/i;
const pullReasons: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff", "ImageInspectError"]);

/** Whether the pod's node refuses how its images are written. What they are called was understood when their digest was looked up. */
export function isFormRefused({ spec, status }: Pod): boolean {
  const written = new Map([...spec.containers, ...(spec.initContainers ?? [])].map(({ name, image = "" }) => [name, image]));
  const isCounted = ({ name }: ContainerStatus): boolean => hasTagAndDigest(written.get(name) ?? "");
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.some((container) => isRefused(container) && isCounted(container));
}

function hasTagAndDigest(image: string): boolean {
  const name = image.slice(0, Math.max(0, image.indexOf("@sha256:")));
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") && colon < name.length - 1;
}

function isRefused({ state }: ContainerStatus): boolean {
  const { reason = "", message = "" } = state?.waiting ?? {};
  return reason === "InvalidImageName" || (pullReasons.has(reason) && notUnderstood.test(message));
}

/** Whether the pod was made for a runtime that takes no tag beside a digest. */
export function hasPlainImages({ spec }: Pod): boolean {
  return isDigestAlone(spec.containers[0]?.image ?? "");
}
