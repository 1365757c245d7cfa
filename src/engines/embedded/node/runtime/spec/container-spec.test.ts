import { expect, test } from "vitest";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { bind, renderSpec, type SpecInput } from "./container-spec.ts";
import { seccompProfile } from "./seccomp.ts";

const plan: ContainerPlan = {
  id: "c".repeat(64),
  podUid: "pod",
  name: "main",
  attempt: 0,
  image: {
    kind: "oci",
    id: `sha256:${"1".repeat(64)}`,
    digest: `sha256:${"2".repeat(64)}`,
    config: { env: [], entrypoint: [], cmd: [], user: "", workingDir: "", labels: {} },
    layers: [],
  },
  argv: ["/bin/sh", "-c", "true"],
  env: { PATH: "/bin", EMPTY: "" },
  workingDir: "",
  security: {
    user: "",
    supplementalGroups: [],
    addCapabilities: [],
    dropCapabilities: [],
    readOnlyRootFilesystem: false,
    allowPrivilegeEscalation: true,
  },
  resources: {},
  mounts: [],
  annotations: {},
  logFile: "/log",
  daemon: false,
};

const input: SpecInput = {
  plan,
  user: { uid: 1000, gid: 100, groups: [27], home: "/home/user" },
  hostname: "box",
  root: "/stage/root",
  mounts: [bind("/stage/usr", "/usr", ["nodev"])],
  namespaces: { user: "/slots/3/user", network: "/slots/3/net" },
  firstUid: 1_879_048_192,
  cgroupsPath: "/abx1/pod/c",
  maxOpenFiles: 20_000,
  countsSwap: true,
  disks: [
    "../devices/pci0000:00/0000:00:04.0/virtio1/block/vda",
    "../devices/pci0000:00/0000:00:05.0/virtio2/block/vdb",
    "../devices/virtual/block/loop0",
  ],
  machine: "x64",
};

const withSecurity = (security: Partial<ContainerPlan["security"]>): SpecInput => ({
  ...input,
  plan: { ...plan, security: { ...plan.security, ...security } },
});

test("a container joins its pod's user and network namespace and has all others of its own", () => {
  expect(renderSpec(input).linux.namespaces).toEqual([
    { type: "user", path: "/slots/3/user" },
    { type: "network", path: "/slots/3/net" },
    { type: "mount" },
    { type: "pid" },
    { type: "ipc" },
    { type: "uts" },
    { type: "cgroup" },
  ]);
});

test("its ids are those of its slot and no others", () => {
  const { uidMappings, gidMappings } = renderSpec(input).linux;
  expect(uidMappings).toEqual([{ containerID: 0, hostID: 1_879_048_192, size: 65_536 }]);
  expect(gidMappings).toEqual(uidMappings);
});

test("its process is what the plan says, as the user that was found", () => {
  expect(renderSpec(input).process).toMatchObject({
    terminal: false,
    args: ["/bin/sh", "-c", "true"],
    env: ["HOME=/home/user", "PATH=/bin", "EMPTY="],
    cwd: "/",
    user: { uid: 1000, gid: 100, additionalGids: [27] },
    rlimits: [
      { type: "RLIMIT_NOFILE", hard: 20_000, soft: 20_000 },
      { type: "RLIMIT_CORE", hard: 0, soft: 0 },
    ],
  });
});

test("a home folder that the plan sets is not overwritten", () => {
  expect(renderSpec({ ...input, plan: { ...plan, env: { HOME: "/elsewhere" } } }).process.env).toEqual(["HOME=/elsewhere"]);
});

test("the process may gain powers only if the plan lets it", () => {
  expect(renderSpec(input).process.noNewPrivileges).toBe(false);
  expect(renderSpec(withSecurity({ allowPrivilegeEscalation: false })).process.noNewPrivileges).toBe(true);
});

test("only the system calls of the profile exist", () => {
  expect(renderSpec(input).linux.seccomp).toEqual(seccompProfile("x64"));
});

test("no capability is inherited or ambient, and all three sets are the same", () => {
  const { capabilities } = renderSpec(input).process;
  expect(Object.keys(capabilities).sort()).toEqual(["bounding", "effective", "permitted"]);
  expect(capabilities.effective).toBe(capabilities.bounding);
  expect(capabilities.bounding).not.toContain("CAP_SYS_ADMIN");
});

test("the root is read-only if the plan says so, and no device is allowed", () => {
  expect(renderSpec(input).root).toEqual({ path: "/stage/root", readonly: false });
  expect(renderSpec(withSecurity({ readOnlyRootFilesystem: true })).root.readonly).toBe(true);
  expect(renderSpec(input).linux.resources.devices).toEqual([{ allow: false, access: "rwm" }]);
});

test("file systems of the kernel come first, then the pod's; none of them lets set-user-id programs or devices in", () => {
  const { mounts } = renderSpec(input);
  expect(mounts.map(({ destination }) => destination)).toEqual(["/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/sys", "/usr"]);
  for (const { destination, options } of mounts.slice(0, -1))
    expect([destination, options.includes("nosuid")]).toEqual([destination, true]);
  expect(mounts.find(({ destination }) => destination === "/sys")?.options).toContain("ro");
  expect(mounts.find(({ destination }) => destination === "/dev/shm")?.options).toContain("size=64m");
  expect(mounts.at(-1)).toEqual({ destination: "/usr", source: "/stage/usr", type: "bind", options: ["bind", "nodev"] });
});

test("what tells about the machine is hidden, what would change it is read-only", () => {
  const { maskedPaths, readonlyPaths } = renderSpec(input).linux;
  for (const path of ["/proc/kcore", "/proc/keys", "/proc/cmdline", "/proc/diskstats", "/sys/firmware", "/sys/kernel", "/sys/block"])
    expect(maskedPaths).toContain(path);
  // Programs count processors there.
  // The tree of hardware that disks are in, once; of what is virtual the disks only, not the links of the network.
  expect(maskedPaths.filter((path) => path.startsWith("/sys/devices/"))).toEqual([
    "/sys/devices/system/node",
    "/sys/devices/virtual/bdi",
    "/sys/devices/virtual/block",
    "/sys/devices/virtual/workqueue",
    "/sys/devices/pci0000:00",
  ]);
  expect(maskedPaths.some((path) => "/sys/devices/system/cpu".startsWith(`${path}/`))).toBe(false);
  expect(readonlyPaths).toContain("/proc/sys");
});
