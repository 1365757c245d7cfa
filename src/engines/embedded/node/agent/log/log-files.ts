/** Where the logs of containers are: `<namespace>_<name>_<uid>/<container>/<attempt>.log`, and `.log.1`, `.log.2` for what was there before. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

export interface LoggedPod {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** Names of namespaces, pods and uids hold no underscore, so the parts can be told again. */
export function podFolder({ namespace = "", name, uid }: LoggedPod): string {
  return `${namespace}_${name}_${uid}`;
}

export function uidOfFolder(folder: string): string {
  return folder.split("_")[2] ?? "";
}

export function logName(attempt: number): string {
  return `${attempt}.log`;
}

/** Undefined for what is no log. */
export function attemptOf(fileName: string): number | undefined {
  const written = /^(\d+)\.log(?:\.\d+)?$/.exec(fileName)?.[1];
  return written === undefined ? undefined : Number(written);
}

/** The names in a folder; none when it is not there. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

/** The newest logs of all containers below `root`, found on disk: what a new agent goes on with. */
export async function newestLogs(root: string): Promise<readonly string[]> {
  const files: string[] = [];
  for (const pod of await namesIn(root)) {
    for (const container of await namesIn(join(root, pod))) {
      const attempts = (await namesIn(join(root, pod, container))).flatMap((name) => attemptOf(name) ?? []);
      if (attempts.length > 0) files.push(join(root, pod, container, logName(Math.max(...attempts))));
    }
  }
  return files;
}
