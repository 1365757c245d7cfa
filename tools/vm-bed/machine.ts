/** One boot of a virtual machine. The guest reports on its second serial port, line by line; the first is its console. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { BaseDisk } from "./base-disk.ts";

/**
 * Emulation runs everywhere and is ten to fifteen times slower. KVM is not chosen by itself: inside a virtual machine
 * its device can be there and hang.
 */
const accelerators = { emulation: "tcg,thread=multi", kvm: "kvm" } as const;
export type Accelerator = keyof typeof accelerators;
export const isAccelerator = (text: string): text is Accelerator => Object.hasOwn(accelerators, text);

export interface BootOptions {
  readonly accelerator: Accelerator;
  readonly base: Omit<BaseDisk, "disk">;
  /** The copy of the system disk that this machine writes to, and the project's. */
  readonly disks: readonly string[];
  /** What the guest is to do; it reads these from the kernel's command line. */
  readonly phase: string;
  readonly withSuites: boolean;
  /** Names of steps with commas; all when left out. */
  readonly only?: string | undefined;
  /** File for the console: kernel messages and systemd's. */
  readonly console: string;
  readonly onLine: (line: string) => void;
}

export interface Boot {
  /** Resolves when the machine is off, with QEMU's complaint if it failed. */
  readonly off: Promise<string | undefined>;
  /** As if the cord were pulled: nothing is written any more. */
  cutPower(): void;
}

export function boot({ accelerator, base, disks, phase, withSuites, only = "", console, onLine }: BootOptions): Boot {
  const args = [
    "-accel",
    accelerators[accelerator],
    // QEMU 7.2 emulates two features wrongly. cmpxchg16b: kernels from 6.12 on fault at once. Protection keys: V8, which guards
    // compiled code with them, now and then loses track of its pages and ends the process.
    ..."-machine q35 -cpu max,-cx16,-pku -smp 2 -m 4096 -nic none -no-reboot -display none -monitor none".split(" "),
    "-kernel",
    base.kernel,
    "-initrd",
    base.initrd,
    "-append",
    `root=LABEL=system rw console=ttyS0 quiet loglevel=4 panic=-1 agentbox.phase=${phase} agentbox.suites=${withSuites ? "yes" : "no"} agentbox.only=${only}`,
    ...disks.flatMap((file) => ["-drive", `file=${file},format=raw,if=virtio,cache=writeback`]),
    "-serial",
    `file:${console}`,
    "-serial",
    "stdio",
  ];
  const child = spawn("qemu-system-x86_64", args, { stdio: ["ignore", "pipe", "pipe"] });
  createInterface({ input: child.stdout }).on("line", (line) => onLine(line.replace(/\r$/, "")));
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint = `${complaint}${chunk.toString()}`.slice(-2000)));
  let cut = false;
  const off = new Promise<string | undefined>((resolve) => {
    child.on("error", (error) => resolve(`${error.message}; install it with: apt-get install -y qemu-system-x86`));
    child.on("close", (code) => resolve(code === 0 || cut ? undefined : `QEMU ended with ${code}: ${complaint}`));
  });
  return {
    off,
    cutPower: () => {
      cut = true;
      child.kill("SIGKILL");
    },
  };
}
