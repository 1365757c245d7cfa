/**
 * How a command is asked for. The API knows its words and nothing more: whose it is, where it runs and what else it finds in its
 * environment is done inside, by the launcher that comes with the daemon (src/envd/launch, ADR 34). Containers without the daemon can be
 * given a command only as it is.
 */
import { type ExecCommand, PodAccessError } from "#kube/pod-access.ts";
import { daemonPath } from "#model/daemon-command.ts";
import type { Container } from "#model/pod.ts";

export interface PlannedCommand {
  readonly argv: readonly string[];
  /** Whether the first output is the launcher's. */
  readonly isLaunched: boolean;
}

/** What a launched command says of itself. */
export interface Launched {
  readonly pid: number;
  readonly startTime: string;
}

const launcher: readonly string[] = [
  `${daemonPath}/lib/ld.so`,
  "--library-path",
  `${daemonPath}/lib`,
  `${daemonPath}/node`,
  "--no-warnings",
  `${daemonPath}/launch.cjs`,
];

export function planCommand(container: Container, { argv, env, user, workingDir }: ExecCommand): PlannedCommand {
  if (hasDaemon(container)) {
    return { argv: [...launcher, JSON.stringify({ argv, env, user, workingDir })], isLaunched: true };
  }
  const wished = Object.entries({ env, user, workingDir }).find(([, value]) => value !== undefined)?.[0];
  if (wished === undefined) return { argv, isLaunched: false };
  throw new PodAccessError("not_running", `container ${container.name} has no daemon that could see to the command's ${wished}`);
}

/** Ends a command with all of its process group. */
export function endCommand(launched: Launched): readonly string[] {
  return [...launcher, JSON.stringify({ end: launched })];
}

function hasDaemon({ volumeMounts = [] }: Container): boolean {
  return volumeMounts.some(({ mountPath }) => mountPath === daemonPath);
}
