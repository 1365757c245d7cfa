import { expect, test } from "vitest";
import { seccompProfile } from "./seccomp.ts";
import { allowed, namespaceFlags, refused } from "./system-calls.ts";

const profile = seccompProfile("x64");
const rulesFor = (name: string): readonly unknown[] => profile.syscalls.filter(({ names }) => names.includes(name));

test("what is not named does not exist", () => {
  expect(profile).toMatchObject({ defaultAction: "SCMP_ACT_ERRNO", defaultErrnoRet: 38 });
  for (const name of ["io_uring_setup", "io_uring_enter", "clone3", "uselib", "kexec_file", "io_setup", "io_submit"])
    expect(rulesFor(name)).toEqual([]);
});

test.each([
  "mount",
  "umount2",
  "move_mount",
  "open_tree",
  "fsopen",
  "fsmount",
  "mount_setattr",
  "pivot_root",
  "unshare",
  "setns",
  "keyctl",
  "add_key",
  "request_key",
  "bpf",
  "perf_event_open",
  "init_module",
  "kexec_load",
  "reboot",
  "open_by_handle_at",
  "userfaultfd",
])("%s is refused", (name) => {
  expect(refused).toContain(name);
  expect(allowed).not.toContain(name);
});

test.each([
  "execve",
  "openat",
  "futex",
  "epoll_pwait",
  "sendmsg",
  "chown",
  "setuid",
  "ptrace",
  "memfd_create",
  "rseq",
  "statx",
  "fork",
  "wait4",
  "prlimit64",
  "renameat2",
  "getrandom",
])("%s is allowed", (name) => {
  expect(allowed).toContain(name);
});

test("no call is both, and none is named twice", () => {
  const all = [...allowed, ...refused];
  expect(new Set(all).size).toBe(all.length);
});

test("a process may be cloned, a namespace may not, whatever else is asked for with it", () => {
  const newNamespaces = [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
  expect(newNamespaces.reduce((sum, flag) => sum + flag, 0)).toBe(namespaceFlags);
  expect(rulesFor("clone")).toEqual([
    { names: ["clone"], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value: namespaceFlags, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }] },
    {
      names: ["clone"],
      action: "SCMP_ACT_ERRNO",
      errnoRet: 1,
      args: [{ index: 0, value: 0x1000_0000, valueTwo: 0x1000_0000, op: "SCMP_CMP_MASKED_EQ" }],
    },
  ]);
});

test("sockets of the usual families only: not the one that reaches a virtual machine's host", () => {
  const families = rulesFor("socket").map((rule) => (rule as { args: { value: number }[] }).args[0]?.value);
  expect(families).toEqual([1, 2, 10, 16]);
  expect(families).not.toContain(40);
});

test("one architecture; a machine of another is refused", () => {
  expect(profile.architectures).toEqual(["SCMP_ARCH_X86_64"]);
  expect(seccompProfile("arm64").architectures).toEqual(["SCMP_ARCH_AARCH64"]);
  expect(() => seccompProfile("mips")).toThrow("no list of system calls for mips; there is one for x64, arm64");
});
