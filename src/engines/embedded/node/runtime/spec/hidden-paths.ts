/** Files of the kernel that reveal the machine or its other users, and files that a sandbox must not change. */

/** Always, whether they are there or not. */
const hidden = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/buddyinfo",
  "/proc/bus/pci",
  "/proc/cgroups",
  "/proc/cmdline",
  "/proc/config.gz",
  "/proc/diskstats",
  "/proc/driver",
  "/proc/dynamic_debug",
  "/proc/fs",
  "/proc/interrupts",
  "/proc/irq",
  "/proc/kallsyms",
  "/proc/kcore",
  "/proc/key-users",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/locks",
  "/proc/modules",
  "/proc/mdstat",
  "/proc/pagetypeinfo",
  "/proc/partitions",
  "/proc/pressure",
  "/proc/sched_debug",
  "/proc/schedstat",
  "/proc/scsi",
  "/proc/slabinfo",
  "/proc/softirqs",
  "/proc/swaps",
  // How much of everything the whole machine has open.
  "/proc/sys/fs/aio-nr",
  "/proc/sys/fs/dentry-state",
  "/proc/sys/fs/file-nr",
  "/proc/sys/fs/inode-nr",
  "/proc/sys/fs/inode-state",
  "/proc/sys/kernel/pty/nr",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/vmallocinfo",
  "/proc/vmstat",
  "/proc/zoneinfo",
  "/sys/block",
  "/sys/bus",
  "/sys/class/bdi",
  "/sys/class/block",
  "/sys/dev",
  "/sys/devices/system/node",
  "/sys/devices/virtual/bdi",
  "/sys/devices/virtual/block",
  "/sys/devices/virtual/workqueue",
  "/sys/firmware",
  "/sys/fs",
  "/sys/hypervisor",
  "/sys/kernel",
  "/sys/module",
  "/sys/power",
];

export const readonlyPaths = ["/proc/bus", "/proc/sys", "/proc/sysrq-trigger"];

/**
 * All paths to be hidden. `disks`: the real paths of the machine's disks below /sys, from the links in /sys/block. The whole hardware
 * tree that contains a disk is hidden: its folders show the disk traffic of the whole machine.
 */
export function maskedPaths(disks: readonly string[]): readonly string[] {
  const trees = disks.flatMap((link) => /^\.\.\/devices\/([^/]+)\//.exec(link)?.[1] ?? []).filter((tree) => tree !== "virtual");
  return [...hidden, ...new Set(trees.map((tree) => `/sys/devices/${tree}`))];
}
