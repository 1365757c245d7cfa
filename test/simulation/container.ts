/** The real state of a container, whatever is reported about it, with the daemon inside. */
export interface ContainerInstance {
  readonly id: string;
  readonly image: string;
  /** Of the daemon: another one for every start. */
  readonly bootId: string;
  readonly startedAtMs: number;
  /** When its daemon answers. */
  readonly answersAtMs: number;
  /** The sandbox that the daemon is armed for. From then on the container's content belongs to it; before, no user can act in it. */
  armedFor: string | undefined;
  /** True if its user may have acted in it: it was armed before the sandbox ended. Otherwise it was armed too late and has no user data. */
  wasUsed: boolean;
  /** No process of it runs any more. */
  isRetired: boolean;
}

export interface Ended {
  readonly containerId: string;
  readonly reason: string;
  readonly exitCode: number;
  readonly atMs: number;
}

/** A pod as its node has it. */
export interface PodOnNode {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly containerName: string;
  readonly ip: string;
  wantedImage: string;
  isDeleted: boolean;
  container: ContainerInstance | undefined;
  restartCount: number;
  lastEnd: Ended | undefined;
  /** Why there is no container yet. */
  waiting: string | undefined;
  /** Set when the node ended the pod: such a pod is for ever over. */
  failed: { readonly reason: string; readonly message: string } | undefined;
  /** A change of it is under way. */
  isBusy: boolean;
  /** How much of the truth has been written: what lags behind is told later. */
  isReadyTold: boolean;
  /** The newest version of the pod that the node has heard of. */
  seenVersion: number;
}
