import { join } from "node:path";

/**
 * Where the node keeps its files. Files that live as long as a container are below `run`, a memory file system that is private to
 * the machine's first mount namespace. Large files are on disk, below `home`.
 *
 * Files on disk carry the owners that they have inside a sandbox: a set-user-id file made by a sandbox's root belongs to the real
 * root there. So only root may open these folders, and mounts of them on the machine itself are made without set-user-id.
 */
export interface NodePaths {
  readonly lock: string;
  readonly disks: string;
  /** The files of volumes. Not in the node's folder: they outlive it. */
  readonly volumes: string;
  readonly hostImage: string;
  readonly trash: string;
  readonly run: string;
  /** One folder per slot, with its namespaces. */
  readonly slots: string;
  /** One folder per pod: what it is, its files and its containers. */
  readonly pods: string;
  /** Volumes, mounted for this machine. */
  readonly volumeMounts: string;
  /** Root file systems while their containers are being created; the only folder that a sandbox's root may enter. */
  readonly stage: string;
  /** The runtimes' own state. */
  readonly runtimes: string;
  /** What commands need while they run. */
  readonly scratch: string;
  /** The daemon's folder without a trace of where it is kept. */
  readonly daemon: string;
}

export function nodePaths(home: string, instance: string): NodePaths {
  const disk = join(home, "node");
  const run = `/run/agentbox-${instance}`;
  return {
    lock: join(disk, "lock"),
    disks: join(disk, "disks"),
    volumes: join(home, "volumes"),
    hostImage: join(disk, "host-image"),
    trash: join(disk, "trash"),
    run,
    slots: join(run, "slots"),
    pods: join(run, "pods"),
    volumeMounts: join(run, "volumes"),
    stage: join(run, "stage"),
    runtimes: join(run, "runtimes"),
    scratch: join(run, "scratch"),
    daemon: join(run, "daemon"),
  };
}

/** Refuses what cannot be one component of a path: these names become folders, groups and arguments. */
export function checkName(name: string, what: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name)) return;
  throw new Error(`${JSON.stringify(name)} cannot be ${what}: letters, digits, dots, hyphens and underscores, at most 128 of them`);
}

/** Refuses what is no id of a container: runtimes' files are recognised by it. */
export function checkContainerId(id: string): void {
  if (!/^[0-9a-f]{64}$/.test(id))
    throw new Error(`${JSON.stringify(id)} cannot be the id of a container: 64 hexadecimal digits in lower case`);
}
