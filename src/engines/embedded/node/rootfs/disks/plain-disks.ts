import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import type { Trash } from "#engines/embedded/node/rootfs/trash.ts";
import type { PodDisks } from "./pod-disks.ts";

/** Folders on the machine's own file system. They are as large as it is. */
export class PlainDisks implements PodDisks {
  readonly #folder: string;
  readonly #trash: Trash;

  constructor(folder: string, trash: Trash) {
    this.#folder = folder;
    this.#trash = trash;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  async ensure(pod: string): Promise<string> {
    const folder = this.folderOf(pod);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  folderOf(pod: string): string {
    return join(this.#folder, pod);
  }

  async remove(pod: string): Promise<void> {
    this.#trash.take(this.folderOf(pod));
  }

  /** Counts file by file, so it costs what the pod has written. */
  async usedBytes(pod: string): Promise<number> {
    if (!existsSync(this.folderOf(pod))) return 0;
    const line = await runCommand(["du", "--summarize", "--one-file-system", "--block-size=1", this.folderOf(pod)]);
    return Number(line.split("\t")[0]);
  }

  pods(): string[] {
    return readdirSync(this.#folder);
  }

  async close(): Promise<void> {}
}
