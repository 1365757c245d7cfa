/**
 * The real daemon where it may be told to write, run and remove anything: in a root of its own in memory, with a shell and little else, in
 * namespaces of its own, and without the devices of this machine.
 */
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledDaemon, type Daemon, startDaemon } from "../envd/daemon.ts";
import { exchange, type Heard, request } from "./raw-exchange.ts";

export const secret = "the-secret-that-nobody-may-read";
/** What an unsigned write would change. */
export const untouched = "as-it-was-before";

export interface CagedDaemon extends Daemon {
  readonly port: number;
  /** What it wrote to its standard error: it does so for what it did not expect. */
  readonly complaints: readonly string[];
  ask(line: string, headers: readonly (readonly [string, string])[], body?: Uint8Array): Promise<Heard>;
}

export async function cagedDaemon(init: { readonly accessToken?: string } = {}): Promise<CagedDaemon> {
  const [program, cage] = await Promise.all([bundledDaemon(), mkdtemp(join(tmpdir(), "agentbox-cage-"))]);
  const bare = join(cage, "bare");
  await furnish(bare);
  const complaints: string[] = [];
  const daemon = await startDaemon(
    { defaultUser: "user", ...init },
    {},
    { within: (argv) => enclosed(cage, program, argv), onError: (text) => complaints.push(text) },
  );
  const port = Number(new URL(daemon.url).port);
  return {
    ...daemon,
    port,
    complaints,
    ask: (line, headers, body) => exchange({ port, bytes: [request(line, headers, body)], cut: false }),
    [Symbol.asyncDispose]: async () => {
      // Children of the cage keep its output open; ending the cage ends them too.
      daemon.process.kill("SIGKILL");
      await daemon[Symbol.asyncDispose]();
      await rm(cage, { recursive: true, force: true });
    },
  };
}

async function furnish(root: string): Promise<void> {
  for (const folder of ["bin", "etc", "home/user", "root", "tmp", "proc", "dev/pts", "scratch/folder", "canary"]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await copyFile("/bin/busybox", join(root, "bin/sh"));
  await writeFile(join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\nuser:x:1000:\n");
  await writeFile(join(root, "canary/secret"), secret);
  await chmod(join(root, "canary/secret"), 0o600);
  await writeFile(join(root, "canary/untouched"), untouched);
  await writeFile(join(root, "scratch/file"), "contents");
  await symlink("/scratch/loop", join(root, "scratch/loop"));
  await symlink("/canary/secret", join(root, "scratch/outside"));
  await symlink("/nowhere", join(root, "scratch/dangling"));
}

/** Its disk is small, so that filling it harms no other process; what it runs cannot outlive it. */
function enclosed(cage: string, program: string, argv: readonly string[]): readonly string[] {
  const root = join(cage, "root");
  const steps = [
    `mkdir ${root}`,
    `mount -t tmpfs -o size=64m,nodev tmpfs ${root}`,
    `cp -a ${join(cage, "bare")}/. ${root}`,
    `mkdir -p ${root}${program}`,
    `mount --bind ${program} ${root}${program}`,
    `mount -o remount,bind,ro ${root}${program}`,
    // A client that may write any file may delete the users; then every request is refused.
    `mount --bind ${root}/etc ${root}/etc`,
    `mount -o remount,bind,ro ${root}/etc`,
    `mount -t proc -o ro proc ${root}/proc`,
    `mount -t tmpfs -o size=64k tmpfs ${root}/dev`,
    `mknod -m 666 ${root}/dev/null c 1 3`,
    `mknod -m 666 ${root}/dev/zero c 1 5`,
    `mknod -m 666 ${root}/dev/full c 1 7`,
    `mkfifo -m 666 ${root}/dev/pipe`,
    `mkdir ${root}/dev/pts`,
    `mount -t devpts -o newinstance,ptmxmode=0666 devpts ${root}/dev/pts`,
    `ln -s pts/ptmx ${root}/dev/ptmx`,
    // What a cage is not made of: loading modules, raw disks and devices, the clock, restarting the machine.
    `exec setpriv --bounding-set=-sys_module,-sys_rawio,-sys_boot,-sys_time,-mknod,-sys_admin chroot ${root} "$@"`,
  ];
  const namespaces = ["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--propagation", "private"];
  return ["unshare", ...namespaces, "--", "sh", "-e", "-c", steps.join("\n"), "cage", ...argv];
}
