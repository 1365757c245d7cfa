/** Where the processors' time goes while sandboxes are asked for: everything shares the same cores, so it decides how long a burst takes. */
import { openCgroups } from "#engines/embedded/node/cgroups/detect.ts";
import { mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { systemClock } from "#lib/clock.ts";
import { allProcesses, processMs, readIfThere, sum } from "../lib/process-time.ts";

/** Milliseconds. */
export interface ProcessorTime {
  /** The program with the SDK. */
  readonly sdk: number;
  /** `agentbox up`: API, gateway, control plane and node agent. */
  readonly server: number;
  readonly daemons: number;
  /** What daemons start. */
  readonly commands: number;
}

export interface Parts {
  readonly sdk: number;
  readonly server: number;
  /** The server that runs the sandboxes. */
  readonly instance: string;
}

/** Reads what has been used so far; the difference of two readings is what was used between them. */
export function processorTimeReader({ sdk, server, instance }: Parts): () => ProcessorTime {
  const cgroups = openCgroups({ instance, clock: systemClock }, mountTable());
  const pods = cgroups.pods();
  const inSandboxes = processesOf(instance);
  return () => {
    const sandboxes = sum(pods.map((pod) => cgroups.counters(pod).cpuNanos / 1e6));
    const daemons = sum(inSandboxes.map(processMs));
    return { sdk: processMs(sdk), server: processMs(server), daemons, commands: sandboxes - daemons };
  };
}

export function timeBetween(before: ProcessorTime, after: ProcessorTime): ProcessorTime {
  return {
    sdk: after.sdk - before.sdk,
    server: after.server - before.server,
    daemons: after.daemons - before.daemons,
    commands: after.commands - before.commands,
  };
}

/** Of waiting sandboxes: the init and the daemon of each. */
function processesOf(instance: string): readonly number[] {
  return allProcesses().filter((pid) => readIfThere(`/proc/${pid}/cgroup`).includes(`:/abx${instance}/`));
}
