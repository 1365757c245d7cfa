/** Runs a program in a running sandbox. */
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ExecSession, PodAccess } from "#kube/pod-access.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { Caller } from "#services/caller.ts";
import { type CarriedDeps, carriedPod, containerIn } from "./carried-pod.ts";
import { checkCommand } from "./check-command.ts";
import type { ExecActivity } from "./exec-activity.ts";
import { isArmed } from "#life/arm/ask-daemon.ts";
import type { ExecRequest } from "#services/sandbox-service.ts";
import type { SandboxVariables } from "./sandbox-variables.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export interface ExecDeps extends CarriedDeps {
  readonly pods: Pick<PodAccess, "exec">;
  readonly activity: Pick<ExecActivity, "begin">;
  /** Says that a sandbox has started before that stands on its pod. Left out: what stands there counts. */
  readonly daemons?: Pick<DaemonClient, "health"> | undefined;
  /** What commands of a sandbox find in their environment. Left out: what their container has. */
  readonly variables?: SandboxVariables | undefined;
}

export async function execInSandbox(deps: ExecDeps, caller: Caller, sandboxId: string, request: ExecRequest): Promise<ExecSession> {
  const { container, ...program } = request;
  if (program.argv.length === 0) throw new ServiceError("invalid_request", "command must not be empty", { field: "command" });
  const pod = await carriedPod(deps, { caller, sandboxId, wish: "running a command in it" }, request.signal);
  await refuseUnready(deps, pod, sandboxId, request.signal);
  const name = containerIn(pod, container);
  checkCommand(program);
  const command = { ...program, ...(await environmentOf(deps, pod, name, request)) };
  const end = deps.activity.begin(sandboxId);
  try {
    const session = await translated(deps.pods.exec({ pod: keyOf(pod), container: name, command }));
    // Its caller handles the failure; here only the end matters.
    session.exitCode.then(end, end);
    return session;
  } catch (error) {
    end();
    throw error;
  }
}

/** The daemon is in the first container, and what it was given is for that one. */
async function environmentOf(deps: ExecDeps, pod: Pod, container: string, { env, signal }: ExecRequest): Promise<Pick<ExecRequest, "env">> {
  if (deps.variables === undefined || container !== pod.spec.containers[0]?.name) return env === undefined ? {} : { env };
  return { env: { ...(await deps.variables(pod, signal)), ...env } };
}

/** A container that is about to be exchanged loses what is started in it, and a frozen one does not answer. */
async function refuseUnready({ daemons }: ExecDeps, pod: Pod, sandboxId: string, signal: AbortSignal | undefined): Promise<void> {
  if (isFrozen(pod) || pauseWish(pod) !== undefined) {
    throw new ServiceError("conflict", `sandbox ${sandboxId} is paused: resume it to run a command`);
  }
  if (sandboxPhaseOf(pod) === "running") return;
  // The create was answered when the daemon was armed; a kubelet may take seconds until the pod shows that.
  if (daemons !== undefined && (await isArmed(daemons, pod, sandboxId, signal))) return;
  throw new ServiceError("conflict", `sandbox ${sandboxId} is starting: commands can be run once it runs`);
}
