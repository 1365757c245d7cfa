import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import type { ProcessIdentity } from "#engines/embedded/node/linux/processes.ts";
import type { ContainerExit, PodPlan, PodVolumes } from "#engines/embedded/node/pod-runtime.ts";
import type { AccountFiles } from "#engines/embedded/node/runtime/spec/user.ts";
import type { DiskKind } from "#engines/embedded/node/rootfs/disks/pod-disks.ts";

/**
 * What is written down about a pod and its containers, so that another life of the node finds them again. It lies in
 * memory like the containers themselves: a machine that was switched off has neither.
 *
 *   pods/UID/pod.json, removing, etc/, volumes/
 *   pods/UID/containers/ID/container.json, started.json, exit.json, accounts.json, config.json
 */
export interface PodRecord {
  readonly plan: PodPlan;
  readonly slot: number;
  readonly disk: DiskKind;
  /** That are mounted, or are to be mounted into the next container. */
  readonly volumes?: PodVolumes;
}

export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly imageId: string;
  readonly imageDigest: string;
  readonly runtime: string;
  /** Where its log is looked for. */
  readonly logFile: string;
  /** Known when the container has been created as a whole. */
  readonly process?: ProcessIdentity;
}

export interface StartRecord {
  readonly startedAt: number;
}

export class PodFolder {
  readonly path: string;

  constructor(pods: string, uid: string) {
    this.path = join(pods, uid);
  }

  get etc(): string {
    return join(this.path, "etc");
  }

  /** Volumes in memory. */
  get volumes(): string {
    return join(this.path, "volumes");
  }

  /** Folder of one container: its records, and the bundle that the runtime reads. */
  container(id: string): string {
    return join(this.path, "containers", id);
  }

  containerIds(): string[] {
    return namesIn(join(this.path, "containers"));
  }

  readPod(): PodRecord | undefined {
    return readRecord(join(this.path, "pod.json")) as PodRecord | undefined;
  }

  writePod(record: PodRecord): void {
    mkdirSync(join(this.path, "containers"), { recursive: true, mode: 0o700 });
    writeRecord(join(this.path, "pod.json"), record);
  }

  /** The removal cannot be taken back from here on: any process that finds the pod goes on removing it. */
  markRemoving(): void {
    writeRecord(join(this.path, "removing"), true);
  }

  isRemoving(): boolean {
    return readRecord(join(this.path, "removing")) !== undefined;
  }

  readContainer(id: string): ContainerRecord | undefined {
    return readRecord(join(this.container(id), "container.json")) as ContainerRecord | undefined;
  }

  writeContainer(record: ContainerRecord): void {
    mkdirSync(this.container(record.id), { recursive: true, mode: 0o700 });
    writeRecord(join(this.container(record.id), "container.json"), record);
  }

  /** The users and groups of the container's image, for containers whose files cannot be read. */
  readAccounts(id: string): AccountFiles | undefined {
    return readRecord(join(this.container(id), "accounts.json")) as AccountFiles | undefined;
  }

  writeAccounts(id: string, accounts: AccountFiles): void {
    writeRecord(join(this.container(id), "accounts.json"), accounts);
  }

  readStart(id: string): StartRecord | undefined {
    return readRecord(join(this.container(id), "started.json")) as StartRecord | undefined;
  }

  writeStart(id: string, record: StartRecord): void {
    writeRecord(join(this.container(id), "started.json"), record);
  }

  readExit(id: string): ContainerExit | undefined {
    return readRecord(join(this.container(id), "exit.json")) as ContainerExit | undefined;
  }

  writeExit(id: string, exit: ContainerExit): void {
    writeRecord(join(this.container(id), "exit.json"), exit);
  }
}

export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Whole or not at all: a reader never sees the half of it. */
function writeRecord(path: string, value: unknown): void {
  writeFileSync(`${path}.new`, JSON.stringify(value));
  renameSync(`${path}.new`, path);
}

/** Records are read by the version that wrote them or a later one. */
function readRecord(path: string): unknown {
  const text = readIfPresent(path);
  return text === undefined ? undefined : JSON.parse(text);
}
