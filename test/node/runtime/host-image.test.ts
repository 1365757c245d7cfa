import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { NodeWorld } from "./node-world.ts";

let world: NodeWorld;
let box: ContainerPlan;
const daemon = (): string => join(world.folder, "daemon");

beforeAll(async () => {
  world = NodeWorld.closed();
  mkdirSync(daemon());
  writeFileSync(join(daemon(), "init"), "#!/bin/sh\necho daemon\n", { mode: 0o755 });
  Object.assign(world.options, { daemonFolder: daemon() });
  await world.openRuntime();
  const { uid } = await world.pod();
  box = await world.start(uid, { image: await world.host(), daemon: true });
});
afterAll(() => world[Symbol.asyncDispose]());

const run = async (line: string, user = "root"): Promise<string> => {
  const { out, err } = await world.exec(box.id, ["/bin/bash", "-c", line], { user });
  return `${out}${err}`;
};

describe("in the image host", () => {
  test("programs of the machine run", async () => {
    expect(await run("python3 -c 'import ssl, json; print(6 * 7)'")).toBe("42\n");
    expect(await run("git --version && bash -c 'echo ok'")).toMatch(/^git version .*\nok\n$/);
  });

  test("everything belongs to the sandbox's users, /usr may be changed and stays what it was for others", async () => {
    expect(await run("stat -c '%u:%g %a %n' / /usr /etc/shadow /root /home/user /tmp /usr/bin/env")).toBe(
      "0:0 755 /\n0:0 755 /usr\n0:42 640 /etc/shadow\n0:0 700 /root\n1000:1000 755 /home/user\n0:0 1777 /tmp\n0:0 755 /usr/bin/env\n",
    );
    expect(
      await run("touch /usr/bin/mine && chown 33:33 /usr/bin/mine && rm /usr/bin/git && ls -n /usr/bin/mine && ls /usr/bin/git"),
    ).toMatch(/33 33 .*\/usr\/bin\/mine\nls: cannot access '\/usr\/bin\/git'/);
    const { uid } = await world.pod();
    const other = await world.start(uid, { image: await world.host() });
    expect(await world.exec(other.id, ["/bin/ls", "/usr/bin/git", "/usr/bin/mine"])).toMatchObject({ out: "/usr/bin/git\n" });
  });

  test("a user becomes another one by programs that may", async () => {
    expect(await run("su user -c 'id -un'")).toBe("user\n");
    expect(await run("id -un; touch /etc/x; touch ~/y && ls ~/y", "user")).toBe(
      "user\n/home/user/y\ntouch: cannot touch '/etc/x': Permission denied\n",
    );
  });

  test("what is the administrator's is not there", async () => {
    expect(await run("ls /usr/local /usr/local/bin; ls /usr/src /usr/etc")).toMatch(
      /^\/usr\/local:\nbin\n[^]*\/usr\/local\/bin:\nls: cannot access '\/usr\/src'/,
    );
    expect(await run("ls -A /home /opt /srv /mnt /var/lib; cat /etc/machine-id")).not.toMatch(/dpkg|cloud/);
    expect(await run("find /usr -xdev \\( -type f -o -type d \\) ! -perm -004 | wc -l")).toBe("0\n");
    expect(await run("ls /etc/ssh /etc/apt /etc/npmrc /etc/gitconfig /etc/pip.conf /etc/docker")).not.toMatch(/^\/etc/m);
  });

  test("no mount tells where the machine keeps its files", async () => {
    const mounts = await run("cat /proc/self/mountinfo");
    expect(mounts).not.toContain(world.options.home);
    expect(mounts).not.toMatch(/agentbox-host-image|\/tmp\/agentbox/);
    expect(mounts).toContain("lowerdir=/proc/self/fd/");
  });
});

describe("the daemon's folder", () => {
  test("is at /.envd, read-only, for every user, and says nothing about where it is kept", async () => {
    expect(await run("/.envd/init; touch /.envd/x; ls -n /.envd", "user")).toMatch(
      /^daemon\n[^]*init[^]*touch: cannot touch '\/.envd\/x': Read-only file system\n$/,
    );
    expect(await run("grep envd /proc/self/mountinfo")).not.toContain(daemon());
  });

  test("is not in containers that do not ask for it", async () => {
    const { uid } = await world.pod();
    const other = await world.start(uid);
    expect(await world.exec(other.id, ["/bin/ls", "/.envd"])).toMatchObject({ code: 1 });
  });

  test("can change: new containers see the new one, those that run keep theirs", async () => {
    const next = join(world.folder, "daemon-2");
    mkdirSync(next);
    writeFileSync(join(next, "init"), "#!/bin/sh\necho newer\n", { mode: 0o755 });
    await world.closeRuntime();
    Object.assign(world.options, { daemonFolder: next });
    await world.openRuntime();
    const { uid } = await world.pod();
    const fresh = await world.start(uid, { image: await world.host(), daemon: true });
    expect(await world.exec(fresh.id, ["/.envd/init"])).toMatchObject({ out: "newer\n" });
    expect(await run("/.envd/init")).toBe("daemon\n");
  });
});

test("a container that is to have the daemon is refused where the node has none", async () => {
  await using plain = await NodeWorld.open();
  const { uid } = await plain.pod();
  await expect(plain.runtime.createContainer(plain.plan(uid, { daemon: true }))).rejects.toThrow(
    "this node was opened without the daemon's folder",
  );
});
