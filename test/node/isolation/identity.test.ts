import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { Pods } from "#model/pod.ts";
import { instanceOf } from "../../../src/cmd/machine/embedded-node.ts";
import { eventually } from "../../world/eventually.ts";
import { Sandbox, statusOf, twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();

/** What root of a sandbox may do, with the number of each; docs/isolation.md has the same list. */
const rootsPowers: Readonly<Record<string, number>> = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  FOWNER: 3,
  FSETID: 4,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  SETPCAP: 8,
  NET_BIND_SERVICE: 10,
  SYS_CHROOT: 18,
  AUDIT_WRITE: 29,
  SETFCAP: 31,
};
const powersMask = Object.values(rootsPowers).reduce((mask, bit) => mask | (1n << BigInt(bit)), 0n);

function idMap(pid: number, kind: "uid" | "gid"): number[] {
  return readFileSync(`/proc/${pid}/${kind}_map`, "utf8").trim().split(/\s+/).map(Number);
}

const ids = (pid: number, kind: "Uid" | "Gid"): number[] => (statusOf(pid)[kind] ?? "").split("\t").map(Number);

test("root of a sandbox is nobody of the machine", () => {
  for (const kind of ["Uid", "Gid"] as const) {
    for (const id of ids(box.mine.pid, kind)) expect(id).toBeGreaterThanOrEqual(0x7000_0000);
  }
});

test("the user of a sandbox is nobody of the machine either", async () => {
  await box.mine.says("sleep 4243 >/dev/null 2>&1 & disown", "user");
  const isSleep = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, "utf8") === "sleep\u00004243\u0000";
  // Between its fork and its start it is called as the shell.
  await eventually(() => expect(box.mine.pids().some(isSleep)).toBe(true));
  const pid = box.mine.pids().find(isSleep) ?? 0;
  expect(ids(pid, "Uid")).toEqual(Array.from({ length: 4 }, () => (ids(box.mine.pid, "Uid")[0] ?? 0) + 1000));
  await box.mine.says("pkill -f 'sleep 4243'", "user");
});

test.each(["uid", "gid"] as const)("two sandboxes have not one %s in common", (kind) => {
  const [mine = [], other = []] = [box.mine, box.other].map(({ pid }) => idMap(pid, kind));
  expect([mine[0], mine[2], other[0], other[2]]).toEqual([0, 65_536, 0, 65_536]);
  expect(Math.abs((mine[1] ?? 0) - (other[1] ?? 0))).toBeGreaterThanOrEqual(65_536);
});

test.each(["uid", "gid"] as const)("a sandbox cannot map another %s into itself", async (kind) => {
  const { code } = await box.mine.sh(`echo '0 0 1' > /proc/self/${kind}_map`);
  expect(code).not.toBe(0);
});

test("a file cannot be given to somebody who is not in the sandbox", async () => {
  const source = `
import errno, os
open("/tmp/given", "w").close()
try: os.chown("/tmp/given", 65536, 65536); print("done")
except OSError as error: print(errno.errorcode[error.errno])`;
  expect(await box.mine.python(source)).toBe("EINVAL");
});

test("owners of files work inside as on a machine of one's own", async () => {
  expect(await box.mine.says("touch /tmp/owned && chown 33:1000 /tmp/owned && stat -c %u:%g /tmp/owned")).toBe("33:1000");
});

test("root of a sandbox becomes its user and back by su and setuid files", async () => {
  expect(await box.mine.says("su user -c 'id -un'")).toBe("user");
  await box.mine.says("cp /bin/bash /tmp/rootshell && chmod 4755 /tmp/rootshell");
  expect(await box.mine.says("/tmp/rootshell -p -c 'id -u'", "user")).toBe("0");
});

test("the user of a sandbox becomes its root by sudo", async () => {
  expect(await box.mine.says("sudo id -u", "user")).toBe("0");
});

const isOurSudo = globSync("/usr/bin/sudo").length === 0;

describe.runIf(isOurSudo)("the sudo of the image `host`", () => {
  test.each([
    ["sudo -n -u www-data id -un", "www-data"],
    ["sudo --user=www-data -- id -gn", "www-data"],
    ["sudo -u '#33' id -u", "33"],
    ["sudo -g tty id -gn", "tty"],
    ["sudo id -G", "0"],
    ["A=1 TERM=x sudo B=2 sh -c 'echo $A-$B-$TERM-$HOME-$USER-$SUDO_USER-$SUDO_UID'", "-2-x-/root-root-user-1000"],
    ["A=1 sudo -E sh -c 'echo $A'", "1"],
    ["A=1 C=3 sudo --preserve-env=C sh -c 'echo $A$C'", "3"],
    ["cd /tmp && sudo -i pwd", "/root"],
    ["cd /tmp && sudo -s pwd", "/tmp"],
    ["sudo -D /var pwd", "/var"],
    ["sudo -i echo 'a  b' '$HOME;x'", "a  b /root;x"],
    ["sudo sh -c 'exit 7' || echo $?", "7"],
    ["sudo -v && sudo -k && echo both", "both"],
  ])("%s", async (line, printed) => {
    expect(await box.mine.says(line, "user")).toBe(printed);
  });

  test.each([
    ["sudo no-such-command", "sudo: no-such-command: command not found"],
    ["sudo -u nobody-here id", "sudo: unknown user nobody-here"],
    ["sudo", "usage: sudo"],
  ])("%s fails in words", async (line, words) => {
    const { code, stderr } = await box.mine.sh(line, "user");
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
  });

  test("gives nothing to users without a line in sudoers, or with one that others could have written", async () => {
    const asDaemon = "sudo -u www-data sudo id -u";
    expect(await box.mine.sh(asDaemon, "user")).toMatchObject({ code: 1, stderr: expect.stringContaining("/etc/sudoers has no line") });
    await box.mine.says("echo '%www-data ALL=(ALL) NOPASSWD: ALL' >> /etc/sudoers");
    expect(await box.mine.says(asDaemon, "user")).toBe("0");
    await box.mine.says("echo 'sync ALL=(ALL) NOPASSWD: /bin/ls' >> /etc/sudoers");
    expect((await box.mine.sh("sudo -u sync sudo id -u", "user")).code).toBe(1);
    await box.mine.says("chmod 666 /etc/sudoers");
    expect(await box.mine.sh(asDaemon, "user")).toMatchObject({ code: 1, stderr: expect.stringContaining("only root may write it") });
    await box.mine.says("chmod 440 /etc/sudoers");
  });

  test("does nothing on the machine, where only root can reach it", () => {
    const files = globSync(join(box.world.home, "**/local/bin/sudo"));
    expect(files).toHaveLength(1);
    for (const file of files) {
      expect(spawnSync(file, ["id", "-u"], { encoding: "utf8" })).toMatchObject({
        status: 1,
        stdout: "",
        stderr: "sudo: this program works in sandboxes only\n",
      });
      expect(spawnSync(file, ["id", "-u"], { uid: 65_534, gid: 65_534 }).error).toMatchObject({ code: "EACCES" });
    }
  });
});

test("python is the machine's python3", async () => {
  expect(await box.mine.says("python -c 'import sys; print(sys.version_info[0])'", "user")).toBe("3");
});

test("a setuid file that a sandbox made cannot be started by anybody outside", async () => {
  await box.mine.says("cp /bin/bash /tmp/rootshell && chmod 4755 /tmp/rootshell");
  // On the pod's disk, which the machine has mounted.
  const disks = `/run/agentbox-${instanceOf(box.world.home)}/disks`;
  const files = execFileSync("find", [disks, "-name", "rootshell"], { encoding: "utf8" }).trim().split("\n");
  expect(files).toEqual([expect.stringMatching(/rootshell$/)]);
  for (const file of files) {
    const { error } = spawnSync(file, ["-p", "-c", "id -u"], { uid: 65_534, gid: 65_534 });
    expect(error).toMatchObject({ code: "EACCES" });
  }
});

describe.each(["CapEff", "CapPrm", "CapBnd"])("of the set %s", (set) => {
  test("root of a sandbox has the written capabilities and no other", async () => {
    expect(BigInt(`0x${await box.mine.says(`awk '/^${set}/ { print $2 }' /proc/self/status`)}`)).toBe(powersMask);
  });
});

test.each(["CapEff", "CapPrm", "CapInh", "CapAmb"])("the user of a sandbox has no capabilities in %s", async (set) => {
  expect(await box.mine.says(`awk '/^${set}/ { print $2 }' /proc/self/status`, "user")).toMatch(/^0+$/);
});

test.each(users)("a program with capabilities on its file gives %s none that the sandbox does not have", async (user) => {
  // A cat that would be given CAP_SYS_ADMIN and CAP_CHOWN.
  const powers = "0000000201002000000000000000000000000000";
  await box.mine.python(`
import os, shutil
shutil.copy("/usr/bin/cat", "/tmp/mighty-${user}")
os.setxattr("/tmp/mighty-${user}", "security.capability", bytes.fromhex("${powers}"))`);
  const { stdout } = await box.mine.sh(`/tmp/mighty-${user} /proc/self/status`, user);
  const effective = /^CapEff:\s*(\w+)$/m.exec(stdout)?.[1] ?? "0";
  expect(BigInt(`0x${effective}`) & ~powersMask).toBe(0n);
});

describe("in a sandbox that may not gain privileges", () => {
  let locked: Sandbox | undefined;
  beforeAll(async () => {
    const containers = [{ name: "main", image: "host", securityContext: { allowPrivilegeEscalation: false } }];
    locked = new Sandbox(box.world, await box.world.sandbox("locked", { containers }));
    await locked.says("cp /bin/bash /tmp/rootshell && chmod 4755 /tmp/rootshell");
  });

  test.each(users)("no program started by %s gains any", async (user) => {
    expect(await locked?.says("awk '/^NoNewPrivs/ { print $2 }' /proc/self/status", user)).toBe("1");
  });

  test("a setuid file does not make its user root", async () => {
    expect(await locked?.says("/tmp/rootshell -p -c 'id -u'", "user")).toBe("1000");
  });
});

test("a container that asks for a capability over the machine is not started", async () => {
  const containers = [{ name: "main", image: "host", securityContext: { capabilities: { add: ["SYS_ADMIN"] } } }];
  await box.world.store.create(Pods, { metadata: { namespace: "default", name: "mighty" }, spec: { containers } });
  expect(await refusal()).toMatch(/a sandbox cannot have the capabilities SYS_ADMIN/);
  await box.world.remove("mighty");
});

async function refusal(): Promise<string> {
  for await (const event of box.world.store.watch(Pods, { namespace: "default", fieldSelector: "metadata.name=mighty" })) {
    const message = event.type === "BOOKMARK" ? undefined : event.object.status?.containerStatuses?.[0]?.state?.waiting?.message;
    if (message !== undefined) return message;
  }
  throw new Error("the watch ended");
}
