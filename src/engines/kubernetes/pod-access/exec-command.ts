/**
 * The request for a command. The API takes only its words: user, folder and environment are set inside the container, by the launcher that
 * comes with the daemon (src/envd/launch, ADR 34). Containers without the daemon can be given a command only as it is.
 */
import { type ExecCommand, PodAccessError } from "#kube/pod-access.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import { daemonPath } from "#model/daemon-command.ts";
import type { Container } from "#model/pod.ts";

export interface PlannedCommand {
  readonly argv: readonly string[];
  /** Whether the first output is the launcher's. */
  readonly isLaunched: boolean;
  /** What the launcher is sent on standard input when it is ready. */
  readonly request?: Buffer;
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

/** Bytes. The words are part of an address, of which servers take so much. */
const shortRequest = 2048;

/** Environments may hold secrets, and addresses are written to a cluster's audit log: so they go to the launcher as its input. */
export function planCommand(container: Container, { argv, env, user, workingDir }: ExecCommand): PlannedCommand {
  if (hasDaemon(container)) {
    const request = JSON.stringify({ argv, env, user, workingDir });
    if (env === undefined && request.length <= shortRequest) return { argv: [...launcher, request], isLaunched: true };
    return { argv: [...launcher, JSON.stringify({ ask: true })], isLaunched: true, request: requestLines(request) };
  }
  const wished = Object.entries({ env, user, workingDir }).find(([, value]) => value !== undefined)?.[0];
  if (wished === undefined) return { argv, isLaunched: false };
  throw new PodAccessError("not_running", `container ${container.name} has no daemon that could see to the command's ${wished}`);
}

/** As `read-request.ts` of the launcher reads it. */
function requestLines(request: string): Buffer {
  const lines =
    Buffer.from(request)
      .toString("base64")
      .match(/.{1,1024}/g) ?? [];
  return Buffer.from([...lines, ".", ""].join("\n"));
}

/** What the launcher is sent in place of a request whose caller has gone. */
export const noRequest = Buffer.from(".\n");

/** Signals a command with all of its process group. */
export function signalCommand(launched: Launched, signal: ExecSignal): readonly string[] {
  return [...launcher, JSON.stringify({ signal: { ...launched, name: signal } })];
}

function hasDaemon({ volumeMounts = [] }: Container): boolean {
  return volumeMounts.some(({ mountPath }) => mountPath === daemonPath);
}
