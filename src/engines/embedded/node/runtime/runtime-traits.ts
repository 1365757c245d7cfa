import type { ContainerSpec } from "./spec/container-spec.ts";

/** In what OCI runtimes differ behind their common command line. */
export interface RuntimeTraits {
  readonly command: string;
  readonly install: string;
  /** Flags before the verb. */
  readonly flags: readonly string[];
  /**
   * `fifo`: a created container waits until a file in the runtime's state is opened. The runtime's `start` does only that, so we do it
   * ourselves and save a process for every sandbox.
   */
  readonly startBy: "fifo" | "command";
  /** `process`: the process in the pid file is the container's PID 1; `command`: it is the runtime's own. */
  readonly signalBy: "process" | "command";
  /** The container is not a Linux process tree: its root cannot be looked at, and the runtime takes the address for itself. */
  readonly opaque: boolean;
  readonly adapt: (spec: ContainerSpec) => ContainerSpec;
}

const same = (spec: ContainerSpec): ContainerSpec => spec;

/** gVisor makes its own user namespace and is itself the filter of system calls. */
function forGvisor(spec: ContainerSpec): ContainerSpec {
  const { seccomp: _, ...linux } = spec.linux;
  const namespaces = linux.namespaces.map((namespace) => (namespace.type === "user" ? { type: "user" } : namespace));
  return { ...spec, linux: { ...linux, namespaces } };
}

const runc: RuntimeTraits = {
  command: "runc",
  install: "tools/runc/build.sh",
  flags: [],
  startBy: "fifo",
  signalBy: "process",
  opaque: false,
  adapt: same,
};

/** By `runtimeClassName`. */
const runtimes: Readonly<Record<string, RuntimeTraits>> = {
  runc,
  crun: { ...runc, command: "crun", install: "apt-get install crun", startBy: "command" },
  runsc: {
    command: "runsc",
    install: "go install gvisor.dev/gvisor/runsc@latest",
    // Its own overlay would keep what a sandbox writes in a file of its own, out of our writable layer.
    flags: ["--platform=systrap", "--network=sandbox", "--allow-suid", "--overlay2=none"],
    startBy: "command",
    signalBy: "command",
    opaque: true,
    adapt: forGvisor,
  },
};

export const defaultRuntime = "runc";

export function runtimeTraits(runtimeClassName: string): RuntimeTraits {
  const traits = runtimes[runtimeClassName];
  if (traits !== undefined) return traits;
  throw new Error(
    `there is no runtime class ${JSON.stringify(runtimeClassName)} on this node; there are ${Object.keys(runtimes).join(", ")}`,
  );
}
