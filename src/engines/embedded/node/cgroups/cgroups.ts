/**
 * What the kernel counts and limits for a pod and its containers. One interface, two layouts of files: hybrid.ts for
 * cgroup v1 (with the v2 tree beside it), unified.ts for v2; lib/cgroups reads and freezes both kinds; detect.ts tells
 * which one a machine has. Containers lie below their pod: `/abx<instance>/<pod>/<container>`.
 */
import type { Clock } from "#lib/clock.ts";

export interface PodCounters {
  readonly cpuNanos: number;
  /** Without page cache that is given up on demand: what counts against the limit in the end. */
  readonly memoryBytes: number;
  /** All page cache, that which is given up on demand too. */
  readonly cacheBytes: number;
  readonly pids: number;
}

export interface GroupLimits {
  readonly pids: number;
  /** The weight beside other pods, in the shares of cgroup v1: 2 to 262,144. Undefined: the kernel's own, 1,024. */
  readonly cpuShares?: number | undefined;
}

export interface Cgroups {
  /** Whether a limit of memory and swap together can be set. */
  readonly countsSwap: boolean;
  /** For the runtime's specification. */
  pathOf(pod: string, container: string): string;
  /** Makes the pod's group, with limits over all of its containers together. */
  ensurePod(pod: string, limits: GroupLimits): void;
  /**
   * Limits the memory of what a container's sockets hold, where its limit of memory does not count that. Only sockets
   * that are opened from then on are counted.
   */
  limitSockets(pod: string, container: string, bytes: number): void;
  /** Stops all processes of the pod in place; resolves when they stand. */
  freeze(pod: string): Promise<void>;
  thaw(pod: string): Promise<void>;
  isFrozen(pod: string): boolean;
  counters(pod: string): PodCounters;
  /** Pids of all processes of the pod. */
  processes(pod: string): readonly number[];
  /** How many processes of the container the kernel has killed for want of memory. */
  oomKills(pod: string, container: string): number;
  /** Kills whatever still runs in the pod and removes its groups, those of its containers included. */
  removePod(pod: string): Promise<void>;
  removeContainer(pod: string, container: string): Promise<void>;
  /** Pods that have a group. */
  pods(): string[];
  /** Removes the instance's own group. */
  removeInstance(): Promise<void>;
}

export interface CgroupOptions {
  readonly instance: string;
  readonly clock: Clock;
  /** Where the trees are mounted. */
  readonly root: string;
}
