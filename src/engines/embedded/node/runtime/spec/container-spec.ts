/**
 * What the OCI runtime is told about a container: a pure function of the plan and of where things have been put.
 * Siblings: capabilities.ts, system-calls.ts and seccomp.ts, hidden-paths.ts, resources.ts, user.ts.
 */
import { idsPerRange } from "#engines/embedded/node/linux/namespaces.ts";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { resolveCapabilities } from "./capabilities.ts";
import { maskedPaths, readonlyPaths } from "./hidden-paths.ts";
import { type LinuxResources, linuxResources } from "./resources.ts";
import { type Seccomp, seccompProfile } from "./seccomp.ts";
import type { ResolvedUser } from "./user.ts";

export interface SpecInput {
  readonly plan: ContainerPlan;
  readonly user: ResolvedUser;
  readonly hostname: string;
  /** Root of the mounted root file system. */
  readonly root: string;
  /** Mounts beside the usual ones, in order. */
  readonly mounts: readonly SpecMount[];
  readonly namespaces: { readonly user: string; readonly network: string };
  /** The user outside that is root inside. */
  readonly firstUid: number;
  readonly cgroupsPath: string;
  /** Undefined: the process inherits the limits of the runtime's. */
  readonly maxOpenFiles: number | undefined;
  readonly countsSwap: boolean;
  /** Where links in /sys/block lead to. */
  readonly disks: readonly string[];
  /** `process.arch`. */
  readonly machine: string;
}

export interface SpecMount {
  readonly destination: string;
  readonly source: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** The parts of a specification that we write. */
export interface ContainerSpec {
  readonly ociVersion: string;
  readonly process: SpecProcess;
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly hostname: string;
  readonly mounts: readonly SpecMount[];
  readonly linux: {
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
    readonly uidMappings: readonly IdMapping[];
    readonly gidMappings: readonly IdMapping[];
    readonly cgroupsPath: string;
    readonly resources: LinuxResources;
    readonly seccomp?: Seccomp;
    readonly maskedPaths: readonly string[];
    readonly readonlyPaths: readonly string[];
  };
}

interface IdMapping {
  readonly containerID: number;
  readonly hostID: number;
  readonly size: number;
}

export interface SpecProcess {
  readonly terminal: boolean;
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly cwd: string;
  readonly capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
  readonly rlimits: readonly { readonly type: string; readonly hard: number; readonly soft: number }[];
  readonly noNewPrivileges: boolean;
}

const sharedMemory = "64m";
/** In each container. The kernel counts terminals for the whole machine; see machine-quotas.ts. */
export const mostTerminals = 256;

/** Bind mounts repeat the flags of their source, or a user namespace refuses them. */
export function bind(source: string, destination: string, options: readonly string[]): SpecMount {
  return { destination, source, type: "bind", options: ["bind", ...options] };
}

export function renderSpec(input: SpecInput): ContainerSpec {
  const mapping = [{ containerID: 0, hostID: input.firstUid, size: idsPerRange }];
  return {
    ociVersion: "1.0.2",
    process: renderProcess(input),
    root: { path: input.root, readonly: input.plan.security.readOnlyRootFilesystem },
    hostname: input.hostname,
    mounts: [...kernelMounts, ...input.mounts],
    linux: {
      namespaces: [
        { type: "user", path: input.namespaces.user },
        { type: "network", path: input.namespaces.network },
        ...["mount", "pid", "ipc", "uts", "cgroup"].map((type) => ({ type })),
      ],
      uidMappings: mapping,
      gidMappings: mapping,
      cgroupsPath: input.cgroupsPath,
      resources: linuxResources(input.plan.resources, input.countsSwap),
      seccomp: seccompProfile(input.machine),
      maskedPaths: maskedPaths(input.disks),
      readonlyPaths,
    },
  };
}

function renderProcess({ plan, user, maxOpenFiles }: SpecInput): SpecProcess {
  const capabilities = resolveCapabilities(plan.security.addCapabilities, plan.security.dropCapabilities);
  const { HOME: home = "", ...others } = plan.env;
  // Never empty: the runtime would look it up in the image's own files.
  const env = { HOME: home === "" ? user.home : home, ...others };
  return {
    terminal: false,
    user: { uid: user.uid, gid: user.gid, additionalGids: user.groups },
    args: plan.argv,
    env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    cwd: plan.workingDir === "" ? "/" : plan.workingDir,
    capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    rlimits: maxOpenFiles === undefined ? [] : processLimits(maxOpenFiles),
    noNewPrivileges: !plan.security.allowPrivilegeEscalation,
  };
}

function processLimits(openFiles: number): SpecProcess["rlimits"] {
  return [
    { type: "RLIMIT_NOFILE", hard: openFiles, soft: openFiles },
    { type: "RLIMIT_CORE", hard: 0, soft: 0 },
  ];
}

const kernelMounts: readonly SpecMount[] = [
  { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
  { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "noexec", "strictatime", "mode=755", "size=64k"] },
  {
    destination: "/dev/pts",
    type: "devpts",
    source: "devpts",
    options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5", `max=${mostTerminals}`],
  },
  { destination: "/dev/shm", type: "tmpfs", source: "shm", options: ["nosuid", "noexec", "nodev", "mode=1777", `size=${sharedMemory}`] },
  { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: ["nosuid", "noexec", "nodev"] },
  { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"] },
];
