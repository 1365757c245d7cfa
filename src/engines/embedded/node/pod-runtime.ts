import type { ResolvedImage } from "#images/resolved-image.ts";
import type { ExecCommand, ExecSession } from "#kube/pod-access.ts";
import type { EgressPolicy } from "#model/egress-policy.ts";
import type { ResourceRequirements } from "#model/pod.ts";
import type { VolumeMount } from "#model/volume-mounts.ts";

/**
 * What the node agent needs of the machine: a container runtime interface in miniature. The agent decides
 * (which containers, when to restart, what to report); behind this port are OCI runtime, namespaces, network,
 * cgroups and mounts. Every call may be repeated: ids are chosen by the caller, what is already so stays so.
 */
export interface PodRuntime {
  /** All our pods on this machine, running or ended, also those of earlier processes: a restarted agent adopts or sweeps them. */
  list(): Promise<readonly PodState[]>;
  /** One pod as list() shows it; undefined when nothing of it is on this machine. Asked often, so it must be cheap. */
  inspect(uid: string): Promise<PodState | undefined>;

  /** Gives a pod its slot: address, network and user namespace, cgroup. Of a pod that has one, only the egress policy can change. */
  ensurePod(pod: PodPlan): Promise<PodState>;

  /**
   * Mounts volumes into the container of that name, if it runs, and into each that is made after it. Of a pod that has them nothing changes. Throws when
   * one cannot be mounted; then the pod counts as having none.
   */
  mountVolumes(uid: string, volumes: PodVolumes): Promise<void>;

  /** Removes the pod with all that is left of it. The slot is free for another. */
  removePod(uid: string): Promise<void>;

  /** Mounts the root file system on a fresh writable layer and creates the container, ready to be started. */
  createContainer(plan: ContainerPlan): Promise<void>;
  startContainer(id: string): Promise<ContainerStarted>;
  /** Sends a signal to PID 1 of the container; a container that has ended is a success. */
  signalContainer(id: string, signal: ContainerSignal): Promise<void>;
  /** Kills what still runs and removes container and writable layer. */
  removeContainer(id: string): Promise<void>;

  /** Called once for each container that ends, soon after its end. For containers that ended before a restart it is called after list(). */
  onExit(handler: (id: string, exit: ContainerExit) => void): void;

  /** `owner` shares places for commands that are being started with all that it owns; the container's pod alone when left out. */
  exec(id: string, command: ExecCommand, owner?: string): ExecSession;

  /**
   * Stops all processes of the pod in place, and lets them go on. A frozen pod can be removed, and so can its containers, which thaws
   * it; nothing can be run in it.
   */
  freezePod(uid: string): Promise<void>;
  thawPod(uid: string): Promise<void>;

  /**
   * Copies what a container has changed in its root file system into an empty folder of the machine, while its pod stands still; a pod that was frozen
   * before stays frozen. Owners are as the container sees them. Ends early, with the pod as it was, when the pod or the container is to be removed.
   */
  copyChanges(id: string, folder: string, signal: AbortSignal): Promise<CopiedChanges>;

  usage(uid: string): Promise<PodUsage>;

  /** Lets go of watchers and handles; containers go on running. */
  close(): Promise<void>;
}

export interface CopiedChanges {
  /** How long the pod stood still for it. */
  readonly frozenMs: number;
}

/** SIGKILL, and what images name as the signal that asks them to stop. */
export type ContainerSignal = "SIGTERM" | "SIGKILL" | "SIGINT" | "SIGQUIT" | "SIGHUP" | "SIGUSR1" | "SIGUSR2" | "SIGWINCH";

export interface PodPlan {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly hostname: string;
  /** Limits over all containers of the pod together. */
  readonly limits: PodLimits;
  readonly runtimeClassName?: string | undefined;
  /** Without one: the Internet, but nothing private and no neighbour. */
  readonly egress?: EgressPolicy | undefined;
}

export interface PodVolumes {
  /** The container that is the sandbox. */
  readonly container: string;
  readonly mounts: readonly VolumeMount[];
}

export interface PodLimits {
  readonly pids: number;
  /** The pod's weight when processors are short, in the kernel's shares: 1,024 for each that is asked for; undefined is its default. */
  readonly cpuShares?: number | undefined;
  /** Bytes of all writable layers and emptyDirs together; undefined is no limit. */
  readonly ephemeralStorageBytes?: number | undefined;
}

export interface PodState {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly ip: string;
  readonly slot: number;
  readonly frozen: boolean;
  /** As given to ensurePod last. */
  readonly egress?: EgressPolicy | undefined;
  /** As given to mountVolumes. */
  readonly volumes?: PodVolumes | undefined;
  readonly containers: readonly ContainerStateOnNode[];
}

export interface ContainerStateOnNode {
  readonly id: string;
  readonly name: string;
  /** 0 for the first container of this name in the pod, then one more for each that replaces it. */
  readonly attempt: number;
  readonly imageId: string;
  readonly imageDigest: string;
  /** As given in its plan. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "exited";
  readonly startedAt?: number;
  readonly exit?: ContainerExit;
}

export interface ContainerPlan {
  /** 64 hex digits, made by the agent. */
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: ResolvedImage;
  /** What is run, already resolved from the pod's command and args and the image's entrypoint and cmd. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  readonly security: ContainerSecurity;
  readonly resources: ResourceRequirements;
  readonly mounts: readonly ContainerMount[];
  /** Kept with the container, for an agent that comes later: what it was made from. Means nothing to the runtime. */
  readonly annotations: Readonly<Record<string, string>>;
  /**
   * Where stdout and stderr can be read, one file, written by the container itself so that it goes on when the agent is
   * gone. Its folder is there. Opened for appending, so that the agent can cut it short under a writer. While the container
   * is there this is a link to a file on the pod's disk; when it is removed the end of its log takes the link's place.
   */
  readonly logFile: string;
  /** Put our daemon and its init in place under /.envd. */
  readonly daemon: boolean;
}

export interface ContainerSecurity {
  /** `user`, `uid`, `user:group` or `uid:gid`, resolved in the image's own /etc/passwd. */
  readonly user: string;
  readonly supplementalGroups: readonly number[];
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly readOnlyRootFilesystem: boolean;
  readonly allowPrivilegeEscalation: boolean;
}

export type ContainerMount =
  | {
      readonly kind: "emptyDir";
      readonly name: string;
      readonly path: string;
      readonly readOnly: boolean;
      readonly memory: boolean;
      readonly sizeBytes?: number;
      /** Belongs to this group, as all that is made in it (fsGroup). */
      readonly group?: number;
    }
  /** Files written by the agent (configMap, secret, downward API). */
  | {
      readonly kind: "files";
      readonly name: string;
      readonly path: string;
      readonly files: readonly ProjectedFile[];
      readonly group?: number;
    };

export interface ProjectedFile {
  /** Below the mount, without a leading slash; may name folders. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

export interface ContainerStarted {
  readonly startedAt: number;
  readonly pid: number;
}

export interface ContainerExit {
  /** 128 + signal number when it was killed by one; 255 when it ended while no node was there to see how. */
  readonly code: number;
  readonly signal?: number;
  readonly oomKilled: boolean;
  readonly finishedAt: number;
}

export interface PodUsage {
  readonly cpuNanos: number;
  readonly memoryBytes: number;
  readonly cacheBytes: number;
  readonly pids: number;
  readonly diskBytes: number;
  /** Processes of its present containers that the kernel has killed for want of memory. */
  readonly oomKills: number;
}
