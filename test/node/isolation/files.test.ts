import { createHash } from "node:crypto";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findRuntime } from "#engines/embedded/node/runtime/find-command.ts";
import { onMachine, twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();

/** A file on the machine that no sandbox has. */
const folder = mkdtempSync(join(tmpdir(), "agentbox-secret-"));
const secret = join(folder, "secret");
beforeAll(() => writeFileSync(secret, "the machine's secret\n", { mode: 0o644 }));
afterAll(() => rmSync(folder, { recursive: true }));

const hash = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

describe.each(users)("as %s", (user) => {
  test("what is on the machine and not in the image is not in a sandbox", async () => {
    const paths = [
      secret,
      box.world.home,
      join(box.world.home, "objects.db"),
      ...globSync("/run/agentbox-*"),
      "/run/agentbox.lock",
      "/var/run/docker.sock",
      "/run/containerd/containerd.sock",
      "/run/systemd",
      "/run/dbus",
      "/root/.ssh",
      join(homedir(), ".ssh"),
      "/etc/ssh",
      "/etc/apt",
      "/etc/kubernetes",
      "/etc/ssl/private",
      "/var/lib/docker",
      "/var/lib/dpkg/status",
      "/var/log/dpkg.log",
      "/boot/vmlinuz",
      process.cwd(),
    ];
    const line = paths.map((path) => `test -e '${path}' && echo '${path}'`).join("; ");
    expect((await box.mine.sh(line, user)).stdout).toBe("");
  });

  test("no roundabout path leads to the machine's files", async () => {
    const tops = [
      "/proc/self/root",
      "/proc/1/root",
      "/proc/1/cwd",
      "/proc/self/cwd",
      "/proc/thread-self/root",
      "/../../../..",
      "/dev/fd/0/..",
    ];
    const roundabout = tops.map((top) => `cat ${top}${secret}`);
    const linked = [
      `ln -sf ${secret} /tmp/link-${user}; cat /tmp/link-${user}`,
      `ln -sfn /proc/1/root /tmp/top-${user}; cat /tmp/top-${user}${secret}`,
    ];
    const descriptors =
      "for pid in /proc/[0-9]*; do for fd in $pid/fd/*; do cat $fd/../secret $fd/../../../../../../..${secret}; done; done";
    for (const line of [...roundabout, ...linked, descriptors.replace("${secret}", secret)]) {
      const { stdout } = await box.mine.sh(`timeout 5 bash -c ${JSON.stringify(line)} </dev/null`, user);
      expect({ line, stdout }).toEqual({ line, stdout: expect.not.stringContaining("secret\n") as string });
    }
  });

  test("the accounts and homes in a sandbox are not the machine's", async () => {
    const inside = await box.mine.says("sha256sum /etc/passwd /etc/group | cut -c1-64");
    for (const file of ["/etc/passwd", "/etc/group"]) expect(inside).not.toContain(hash(file));
    expect(await box.mine.says("ls /home", user)).toBe("user");
  });

  test("a neighbour's files are nowhere", async () => {
    await box.other.says("for place in /tmp /home/user /var/tmp /usr/share /dev/shm /run; do echo x > $place/only-the-neighbours; done");
    expect(await box.mine.says("find / -name only-the-neighbours 2>/dev/null | cat", user)).toBe("");
  });

  test("the daemon's files cannot be changed, replaced or linked", async () => {
    const lines = [
      "echo x >> /.envd/envd.cjs",
      "rm /.envd/envd.cjs",
      "mv /.envd /away",
      "touch /.envd/x",
      "chmod 777 /.envd/init",
      "ln /.envd/node /tmp/n",
    ];
    for (const line of lines) expect({ line, code: (await box.mine.sh(line, user)).code }).not.toMatchObject({ code: 0 });
  });

  test("a command in a sandbox is given no descriptor of the machine", async () => {
    expect((await box.mine.says("ls /proc/self/fd", user)).split("\n")).toEqual(["0", "1", "2", "3"]);
    const targets = await box.mine.says("for fd in 0 1 2; do readlink /proc/self/fd/$fd; done", user);
    for (const target of targets.split("\n")) expect(target).toMatch(/^(pipe:|\/dev\/null)/);
  });
});

test("the password file in a sandbox holds no password", async () => {
  const lines = (await box.mine.says("cat /etc/shadow")).split("\n");
  for (const line of lines) expect(line.split(":")[1]).toBe("*");
});

test("what root of a sandbox writes into /usr stays in the sandbox", async () => {
  const before = [hash("/usr/bin/true"), hash("/usr/bin/false")];
  await box.mine.says("echo x > /usr/bin/intruder && echo x >> /usr/bin/true && rm /usr/bin/false && mv /usr/bin/yes /usr/bin/no");
  expect([hash("/usr/bin/true"), hash("/usr/bin/false")]).toEqual(before);
  for (const path of ["/usr/bin/intruder", "/usr/bin/no"]) expect(existsSync(path)).toBe(false);
  const there = await box.other.says(
    "sha256sum /usr/bin/true /usr/bin/false | cut -c1-64; ls /usr/bin/yes /usr/bin/intruder 2>/dev/null | cat",
  );
  expect(there.split("\n")).toEqual([...before, "/usr/bin/yes"]);
});

test("what root of a sandbox writes into a layer of the image stays in the sandbox", async () => {
  const [layer = ""] = globSync(`${box.world.home}/node/host-image/*/root/etc/passwd`);
  const before = hash(layer);
  await box.mine.says("echo intruder:x:0:0::/:/bin/sh >> /etc/passwd; echo x > /etc/profile; rm -rf /etc/skel");
  expect(hash(layer)).toBe(before);
  expect(await box.other.says("grep -c intruder /etc/passwd || true; ls -d /etc/skel")).toBe("0\n/etc/skel");
});

test("the administrator's own parts of /usr are hidden", async () => {
  const theirs = ["bin", "lib", "sbin", "share"].flatMap((name) => readdirSync(join("/usr/local", name), { withFileTypes: true }));
  // These two are the image's own (docs/host-image.md).
  const own = "! -path /usr/local/bin/python ! -path /usr/local/bin/sudo";
  const found = await box.mine.says(`find /usr/local -mindepth 2 ${own}; ls -d /usr/src /usr/etc 2>/dev/null | cat`);
  expect({ found, machineHas: theirs.length }).toMatchObject({ found: "" });
});

test("files in /usr that not everybody on the machine may read are hidden", async () => {
  const found = onMachine("find", "/usr", "-xdev", "-type", "f", "!", "-perm", "-004").trim().split("\n");
  const paths = found.filter((path) => path !== "" && !path.startsWith("/usr/local/"));
  const { stdout } = await box.mine.sh(paths.map((path) => `test -e '${path}' && echo '${path}'`).join("; ") || "true");
  expect(stdout).toBe("");
});

test("no program on the machine is overwritten by way of a command that enters the sandbox", async () => {
  const runtime = findRuntime("runc") ?? "";
  const before = hash(runtime);
  // The process that enters is made to start itself, while a process inside waits to write into its file.
  await box.mine.says("printf '#!/proc/self/exe\\n' > /tmp/enter && chmod 755 /tmp/enter");
  await box.mine.says(`python3 -c '
import glob, os, time
end = time.time() + 4
while time.time() < end:
    for path in glob.glob("/proc/[0-9]*/exe"):
        try:
            name = os.readlink(path)
            if "runc" not in name and "memfd" not in name: continue
            os.write(os.open(path, os.O_WRONLY), b"#!/bin/sh")
            open("/tmp/written", "a").write(name)
        except OSError: pass' >/dev/null 2>&1 & disown`);
  for (let time = 0; time < 5; time++) await box.mine.run(["/tmp/enter"]).catch(() => undefined);
  expect(hash(runtime)).toBe(before);
  expect((await box.mine.sh("cat /tmp/written")).stdout).toBe("");
});

test("a command that is told to begin in a descriptor of the runtime does not begin outside", async () => {
  for (let descriptor = 3; descriptor < 14; descriptor++) {
    const attempt = box.world.run("mine", ["cat", `../../../../../../../..${secret}`], { workingDir: `/proc/self/fd/${descriptor}` });
    expect(
      await attempt.then(
        ({ stdout }) => stdout,
        () => "",
      ),
    ).toBe("");
  }
});

test("a pod that wants a folder of the machine is refused", async () => {
  const spec = { containers: [{ name: "main", image: "host" }], volumes: [{ name: "machine", hostPath: { path: "/" } }] };
  await expect(box.world.sandbox("greedy", spec)).rejects.toThrow(/hostPath/);
  await box.world.remove("greedy");
});

test("what sandboxes write is closed to everybody else on the machine", () => {
  expect(onMachine("stat", "-c", "%a %u", join(box.world.home, "node")).trim()).toBe("700 0");
  const written = globSync(`${box.world.home}/logs/pods/*/main/*.log`);
  expect(written.length).toBeGreaterThan(0);
  // While its container runs a log is a link to the pod's disk: what counts is the file.
  for (const path of written) expect(onMachine("stat", "-L", "-c", "%a", dirname(path), path).trim()).toBe("700\n600");
});
