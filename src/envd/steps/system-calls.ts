import type { Machine } from "./runner-program.ts";

/** [x64, arm64], as in the kernel's tables. Only calls that both machines have. */
const numbers = {
  write: [1, 64],
  openat: [257, 56],
  close: [3, 57],
  read: [0, 63],
  ioctl: [16, 29],
  fcntl: [72, 25],
  dup3: [292, 24],
  pipe2: [293, 59],
  fchown: [93, 55],
  setgroups: [116, 159],
  setresgid: [119, 149],
  setresuid: [117, 147],
  chdir: [80, 49],
  execve: [59, 221],
  clone: [56, 220],
  prctl: [157, 167],
  exit_group: [231, 94],
  lsetxattr: [189, 6],
  lgetxattr: [192, 9],
  llistxattr: [195, 12],
  lremovexattr: [198, 15],
  inotify_init1: [294, 26],
  inotify_add_watch: [254, 27],
  inotify_rm_watch: [255, 28],
} as const satisfies Readonly<Record<string, readonly [x64: number, arm64: number]>>;

export type SystemCall = keyof typeof numbers;

export function numberOf(call: SystemCall, machine: Machine): number {
  const [x64, arm64] = numbers[call];
  return machine === "x64" ? x64 : arm64;
}
