/**
 * Where pods write: one disk per pod, which holds the writable layers of all its containers and its volumes, and which
 * has the size that the pod may use. Siblings: plain-disks.ts (folders, no limit), loop-disks.ts (a file with a file
 * system in it), memory-disks.ts (tmpfs), choose.ts (which
 * of them this machine can have).
 */
export type DiskKind = "none" | "loop" | "tmpfs";

export interface PodDisks {
  /** The folder of the pod's disk; made if it is not there. */
  ensure(pod: string, sizeBytes: number | undefined): Promise<string>;
  /** The same, of a pod that has one. */
  folderOf(pod: string): string;
  remove(pod: string): Promise<void>;
  usedBytes(pod: string): Promise<number>;
  /** Pods that have a disk, or a part of one. */
  pods(): string[];
  /** Lets go of what was made ahead; disks of pods stay. */
  close(): Promise<void>;
}
