/**
 * The system disk of a stock Debian, with its kernel and initial RAM disk beside it. Making one takes minutes, so it is
 * kept; every run of a machine works on a copy.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { debootstrap, mirrorOfMachine } from "#ready-templates/debootstrap.ts";
import { type Debian, guestPackages } from "./debians.ts";

const run = promisify(execFile);

export interface BaseDisk {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

/** Changed with what is done below, or kept disks would go on being used. */
const recipe = 1;
const diskSize = "8G";

/** The guest's script stands on the project's disk; the machine only knows how to start it. */
const unit = `[Unit]
Description=What a newcomer runs
RequiresMountsFor=/opt/agentbox
After=basic.target

[Service]
Type=simple
ExecStart=/bin/bash /opt/agentbox/test/vm/guest/main.sh
KillMode=process
LimitNOFILE=1048576

[Install]
WantedBy=basic.target
`;

export async function baseDisk(parent: string, { suite }: Debian, say: (line: string) => void): Promise<BaseDisk> {
  const key = createHash("sha256")
    .update(JSON.stringify([recipe, diskSize, unit, suite, guestPackages]))
    .digest("hex")
    .slice(0, 12);
  const folder = join(parent, `${suite}-${key}`);
  const made = { disk: join(folder, "disk.img"), kernel: join(folder, "vmlinuz"), initrd: join(folder, "initrd.img") };
  if (existsSync(folder)) return made;
  if (process.getuid?.() !== 0) throw new Error("making a Debian disk needs root, which owns the files on it");
  const making = `${folder}.making-${process.pid}`;
  const root = join(making, "root");
  try {
    await mkdir(root, { recursive: true });
    const include = `--include=${guestPackages.join(",")}`;
    await debootstrap(["--variant=minbase", include, suite, root, await mirrorOfMachine()], say);
    await prepareRoot(root);
    await takeKernel(root, making);
    say("Writing the disk ...");
    await run("mke2fs", ["-q", "-t", "ext4", "-L", "system", "-d", root, join(making, "disk.img"), diskSize]);
    await rm(root, { recursive: true });
    await rename(making, folder);
    return made;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

async function prepareRoot(root: string): Promise<void> {
  const etc = (name: string, text: string): Promise<void> => writeFile(join(root, "etc", name), text);
  await etc("fstab", "LABEL=system / ext4 defaults 0 1\nLABEL=agentbox /opt/agentbox ext4 defaults 0 2\n");
  await etc("hostname", "stock\n");
  await etc("hosts", "127.0.0.1 localhost\n127.0.1.1 stock\n");
  await etc("systemd/system/agentbox-vm.service", unit);
  await mkdir(join(root, "opt/agentbox"));
  await mkdir(join(root, "etc/systemd/system/basic.target.wants"), { recursive: true });
  await symlink("../agentbox-vm.service", join(root, "etc/systemd/system/basic.target.wants/agentbox-vm.service"));
  // A login prompt would write between the lines of the report.
  for (const port of ["ttyS0", "ttyS1"]) await symlink("/dev/null", join(root, `etc/systemd/system/serial-getty@${port}.service`));
  await run("useradd", ["--root", root, "--create-home", "--shell", "/bin/bash", "guest"]);
  await rm(join(root, "var/cache/apt"), { recursive: true, force: true });
}

async function takeKernel(root: string, folder: string): Promise<void> {
  const boot = await readdir(join(root, "boot"));
  const file = (prefix: string): string => {
    const name = boot.find((entry) => entry.startsWith(prefix));
    if (name === undefined) throw new Error(`the Debian in ${root} has no ${prefix}* in /boot`);
    return join(root, "boot", name);
  };
  await copyFile(file("vmlinuz-"), join(folder, "vmlinuz"));
  await copyFile(file("initrd.img-"), join(folder, "initrd.img"));
}
