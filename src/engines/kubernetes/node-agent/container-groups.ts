/**
 * Where a kubelet's containers have their control groups. Drivers name them differently:
 *
 *     cgroupfs   kubepods/burstable/pod<uid>/<id>
 *     systemd    kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid, with _>.slice/cri-containerd-<id>.scope
 *
 * and kubelets that do not own the machine have all of it somewhere below. So it is looked for by what is in all of these names.
 */
import { join } from "node:path";
import { childGroups } from "#lib/cgroups/cgroup-files.ts";

/** Below the top of the tree: how deep a kubelet's own group may lie. */
const kubeletDepth = 4;
/** Below the kubelet's: the class of service, and the pod. */
const podDepth = 2;

export class ContainerGroups {
  readonly #top: string;
  #ofKubelets: readonly string[] = [];

  /** `top`: of the tree that has the freezer. */
  constructor(top: string) {
    this.#top = top;
  }

  /** The folder of the container's group; undefined when it has none, or none any more. */
  find(podUid: string, containerId: string): string | undefined {
    const pod = this.#podGroup(podUid);
    const name = pod === undefined ? undefined : childGroups(pod).find((child) => isOfContainer(child, containerId));
    return pod === undefined || name === undefined ? undefined : join(pod, name);
  }

  #podGroup(uid: string): string | undefined {
    const names = [`pod${uid}`, `pod${uid.replaceAll("-", "_")}`];
    const isOfPod = (name: string): boolean => names.some((part) => name.includes(part));
    const known = firstBelow(this.#ofKubelets, podDepth, isOfPod);
    if (known !== undefined) return known;
    // Not known yet, or the kubelet was started anew with other settings.
    this.#ofKubelets = allBelow([this.#top], kubeletDepth, (name) => /(?:^|-)kubepods(?:\.slice)?$/.test(name));
    return firstBelow(this.#ofKubelets, podDepth, isOfPod);
  }
}

/** CRI-O has a second group beside each container's, of the program that watches it; that one must go on. */
function isOfContainer(name: string, id: string): boolean {
  const plain = name.endsWith(".scope") ? name.slice(0, -".scope".length) : name;
  return plain === id || (plain.endsWith(`-${id}`) && !plain.includes("conmon"));
}

function firstBelow(groups: readonly string[], depth: number, isMeant: (name: string) => boolean): string | undefined {
  return allBelow(groups, depth, isMeant)[0];
}

/** Level by level, and not below what is found. */
function allBelow(groups: readonly string[], depth: number, isMeant: (name: string) => boolean): readonly string[] {
  const found: string[] = [];
  let level = groups;
  for (let below = 0; below < depth && found.length === 0; below++) {
    const next = level.flatMap((group) => childGroups(group).map((name) => ({ name, path: join(group, name) })));
    found.push(...next.filter(({ name }) => isMeant(name)).map(({ path }) => path));
    level = next.map(({ path }) => path);
  }
  return found;
}
