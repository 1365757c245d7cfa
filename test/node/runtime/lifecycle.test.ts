import { existsSync, lstatSync, readFileSync, statSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aPod, NodeWorld } from "./node-world.ts";

let world: NodeWorld;
beforeAll(async () => {
  world = await NodeWorld.open();
});
afterAll(() => world[Symbol.asyncDispose]());

describe("a container", () => {
  test("ends with the exit code of its process, and its output is in its log", async () => {
    const { uid } = await world.pod();
    const { exit, log } = await world.run(uid, { argv: ["/bin/sh", "-c", "echo out; echo err >&2; exit 7"] });
    expect(exit).toMatchObject({ code: 7, oomKilled: false });
    expect(log).toBe("out\nerr\n");
  });

  test("that is killed by a signal ends with 128 and its number", async () => {
    const { uid } = await world.pod();
    const plan = await world.start(uid);
    await world.runtime.signalContainer(plan.id, "SIGKILL");
    expect(await world.exitOf(plan.id)).toMatchObject({ code: 137, signal: 9, oomKilled: false });
  });

  test("may open its log again by name, whoever it runs as", async () => {
    const { uid } = await world.pod();
    const { log } = await world.run(uid, {
      argv: ["/bin/sh", "-c", "echo a > /proc/self/fd/1; echo b >> /proc/self/fd/2"],
      security: { user: "app" },
    });
    expect(log).toBe("a\nb\n");
  });

  test("writes its log on its pod's disk; what it wrote last is kept when it is replaced, and its room is free again", async () => {
    const { uid } = await world.pod();
    const box = await world.start(uid, { argv: ["/bin/sh", "-c", "echo first; sleep 1000"] });
    await expect.poll(() => world.logOf(box)).toBe("first\n");
    expect(lstatSync(box.logFile).isSymbolicLink()).toBe(true);
    await world.sh(box.id, "dd if=/dev/zero bs=1M count=12 | tr '\\0' x >> /proc/1/fd/1; echo last >> /proc/1/fd/1");
    const before = (await world.runtime.usage(uid)).diskBytes;
    await world.runtime.removeContainer(box.id);
    expect(lstatSync(box.logFile).isFile()).toBe(true);
    expect(statSync(box.logFile).size).toBe(10 * 2 ** 20);
    expect(world.logOf(box).slice(-6)).toBe("xlast\n");
    expect((await world.runtime.usage(uid)).diskBytes).toBeLessThan(before - 12e6);
  });

  test("does not see from its log where the machine keeps it", async () => {
    const { uid } = await world.pod();
    const { log } = await world.run(uid, { argv: ["/bin/sh", "-c", "ls -l /proc/1/fd/1"] });
    expect(log).toMatch(/\/proc\/1\/fd\/1 -> \/[0-9a-f]{64}\n$/);
  });

  test("whose PID 1 handles SIGTERM ends by it", async () => {
    const { uid } = await world.pod();
    const plan = await world.start(uid, { argv: ["/bin/sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done"] });
    await expect.poll(() => readFileSync(plan.logFile, "utf8")).toContain("ready");
    await world.runtime.signalContainer(plan.id, "SIGTERM");
    expect(await world.exitOf(plan.id)).toMatchObject({ code: 3 });
  });

  test("is PID 1, has the pod's host name and sees the environment and folder it was given", async () => {
    const { uid } = await world.pod({ hostname: "box-7" });
    const { log } = await world.run(uid, {
      argv: ["/bin/sh", "-c", "echo $$ $(hostname) $(pwd) $COLOUR $HOME; cat /etc/hostname"],
      env: { PATH: "/bin", COLOUR: "green" },
      workingDir: "/home/app",
    });
    expect(log).toBe("1 box-7 /home/app green /root\nbox-7\n");
  });

  test("runs as the user that the image knows by name, with that user's groups", async () => {
    const { uid } = await world.pod();
    const { log } = await world.run(uid, {
      argv: ["/bin/sh", "-c", "id; echo $HOME"],
      security: { user: "app", supplementalGroups: [55] },
    });
    expect(log).toBe("uid=1234(app) gid=1234(app) groups=55,77(extra)\n/home/app\n");
  });

  test("of a user that the image does not have is refused, and nothing of it is left", async () => {
    const { uid } = await world.pod();
    const plan = world.plan(uid, { security: { user: "nobody-here" } });
    await expect(world.runtime.createContainer(plan)).rejects.toThrow('the image has no user "nobody-here" in /etc/passwd');
    expect((await world.runtime.inspect(uid))?.containers).toEqual([]);
  });

  test("whose program does not exist fails to start with the runtime's reason", async () => {
    const { uid } = await world.pod();
    const plan = world.plan(uid, { argv: ["/bin/no-such-program"] });
    await expect(world.runtime.createContainer(plan)).rejects.toThrow(/runc create: .*no-such-program/);
    expect((await world.runtime.inspect(uid))?.containers).toEqual([]);
  });

  test("with a read-only root cannot write there, but in its volumes", async () => {
    const { uid } = await world.pod();
    const { log } = await world.run(uid, {
      argv: ["/bin/sh", "-c", "touch /x 2>&1; touch /data/x && echo written"],
      security: { readOnlyRootFilesystem: true },
      mounts: [{ kind: "emptyDir", name: "data", path: "/data", readOnly: false, memory: false }],
    });
    expect(log).toBe("touch: /x: Read-only file system\nwritten\n");
  });

  test("starts on a fresh writable layer: what another one wrote is not there", async () => {
    const { uid } = await world.pod();
    await world.run(uid, { argv: ["/bin/sh", "-c", "echo secret > /left; echo x > /etc/passwd"] });
    const { log } = await world.run(uid, { argv: ["/bin/sh", "-c", "ls /left; cat /etc/passwd"], attempt: 1 });
    expect(log).toContain("ls: /left: No such file or directory");
    expect(log).toContain("root:x:0:0");
  });
});

describe("every call", () => {
  test("may be repeated", async () => {
    const pod = aPod();
    const first = await world.runtime.ensurePod(pod);
    expect(await world.runtime.ensurePod(pod)).toEqual(first);
    const plan = world.plan(pod.uid);
    await Promise.all([world.runtime.createContainer(plan), world.runtime.createContainer(plan)]);
    const [a, b] = await Promise.all([world.runtime.startContainer(plan.id), world.runtime.startContainer(plan.id)]);
    expect(a).toEqual(b);
    await world.runtime.createContainer(plan);
    expect((await world.runtime.inspect(pod.uid))?.containers).toMatchObject([{ id: plan.id, state: "running" }]);
    await Promise.all([world.runtime.removeContainer(plan.id), world.runtime.removeContainer(plan.id)]);
    await world.runtime.signalContainer(plan.id, "SIGTERM");
    await Promise.all([world.runtime.removePod(pod.uid), world.runtime.removePod(pod.uid)]);
    expect(await world.runtime.inspect(pod.uid)).toBeUndefined();
  });

  test("for a pod that is not there says so", async () => {
    await expect(world.runtime.createContainer(world.plan("nobody"))).rejects.toThrow(
      "there is no pod nobody on this node for container main",
    );
    await expect(world.runtime.usage("nobody")).rejects.toThrow("there is no pod nobody on this node");
  });

  test("with a name that could leave its folder is refused", async () => {
    expect(() => world.runtime.ensurePod(aPod({ uid: "../evil" }))).toThrow(/cannot be the uid of a pod/);
  });
});

describe("containers of one pod", () => {
  test("share the network, the volumes and the users, and nothing else", async () => {
    const { uid, ip } = await world.pod();
    const volumes = [
      { kind: "emptyDir", name: "disk", path: "/disk", readOnly: false, memory: false },
      { kind: "emptyDir", name: "ram", path: "/ram", readOnly: false, memory: true, sizeBytes: 1 << 20 },
    ] as const;
    const first = await world.start(uid, { name: "first", mounts: volumes, security: { user: "app" } });
    const second = await world.start(uid, { name: "second", mounts: volumes.map((volume) => ({ ...volume, readOnly: true })) });
    await world.sh(first.id, "echo a > /disk/f; echo b > /ram/f; echo c > /tmp/f");
    const seen = await world.sh(
      second.id,
      "cat /disk/f /ram/f; ls -ln /disk | grep -c '1234 .*1234'; ls /tmp/f; touch /disk/g; cat /etc/hosts; ps",
    );
    expect(seen.out).toContain(`a\nb\n1\n127.0.0.1 localhost`);
    expect(seen.out).toContain(`${ip} box`);
    expect(seen.out.match(/sleep 1000/g)).toHaveLength(1);
    expect(seen.err).toContain("ls: /tmp/f: No such file or directory");
    expect(seen.err).toContain("touch: /disk/g: Read-only file system");
    await world.sh(first.id, "nc -l -p 8080 -e echo hello & sleep 0.1");
    expect(await world.sh(second.id, "nc 127.0.0.1 8080")).toMatchObject({ out: "hello\n" });
  });

  test("get files that only they can read", async () => {
    const { uid } = await world.pod();
    const files = [
      { path: "token", content: Buffer.from("s3cret"), mode: 0o400 },
      { path: "deep/er/name", content: Buffer.from("x"), mode: 0o644 },
    ];
    const { log } = await world.run(uid, {
      argv: ["/bin/sh", "-c", "cat /run/secret/token; ls -ln /run/secret | tail -n +2; cat /run/secret/deep/er/name; touch /run/secret/y"],
      mounts: [{ kind: "files", name: "secret", path: "/run/secret", files }],
    });
    expect(log).toMatch(/^s3cret/);
    expect(log).toMatch(/-r--------\s+1 0\s+0\s+6 .* token/);
    expect(log).toContain("x");
    expect(log).toContain("touch: /run/secret/y: Read-only file system");
  });

  test("cannot have files outside of their volume", async () => {
    const { uid } = await world.pod();
    const mounts = [{ kind: "files", name: "x", path: "/x", files: [{ path: "../../y", content: Buffer.alloc(0), mode: 0o644 }] }] as const;
    await expect(world.runtime.createContainer(world.plan(uid, { mounts }))).rejects.toThrow(
      '"../../y" cannot be the path of a file in a volume',
    );
  });
});

describe("freezing", () => {
  test("comes to a stand even in the moment in which the container becomes its program", async () => {
    // There its threads wait for each other; frozen one by one they would do so for ever.
    for (let round = 0; round < 8; round++) {
      const { uid } = await world.pod();
      const plan = await world.start(uid, { argv: ["/bin/sh", "-c", "echo up; sleep 1000"] });
      await world.runtime.freezePod(uid);
      expect((await world.runtime.inspect(uid))?.frozen).toBe(true);
      await world.runtime.thawPod(uid);
      await expect.poll(() => world.logOf(plan)).toBe("up\n");
      await world.runtime.removePod(uid);
    }
  });

  test("stops a pod in place until it is thawed; a frozen pod can be removed", async () => {
    const { uid } = await world.pod();
    const plan = await world.start(uid, { argv: ["/bin/sh", "-c", "echo busy; while :; do :; done"] });
    await expect.poll(() => readFileSync(plan.logFile, "utf8")).toBe("busy\n");
    await world.runtime.freezePod(uid);
    expect((await world.runtime.inspect(uid))?.frozen).toBe(true);
    const before = (await world.runtime.usage(uid)).cpuNanos;
    await expect(world.sh(plan.id, "true")).rejects.toThrow("pod pod is frozen; thaw it before running something in it");
    expect((await world.runtime.usage(uid)).cpuNanos).toBe(before);
    await world.runtime.thawPod(uid);
    await expect.poll(async () => (await world.runtime.usage(uid)).cpuNanos).toBeGreaterThan(before);
    await world.runtime.freezePod(uid);
    await world.runtime.removePod(uid);
    expect(await world.exitOf(plan.id)).toMatchObject({ code: 137 });
  });
});

test("usage counts processes, memory, time and files of all containers", async () => {
  const { uid } = await world.pod();
  await world.start(uid, { argv: ["/bin/sh", "-c", "dd if=/dev/zero of=/tmp/big bs=1M count=5; sleep 1000"] });
  await world.start(uid, { name: "other" });
  await expect.poll(async () => (await world.runtime.usage(uid)).diskBytes).toBeGreaterThan(5_000_000);
  // Until both have become a sleep, the shell and threads of the runtime count too.
  await expect.poll(async () => (await world.runtime.usage(uid)).pids).toBe(2);
  const usage = await world.runtime.usage(uid);
  expect(usage.cpuNanos).toBeGreaterThan(1_000_000);
  expect(usage.memoryBytes).toBeGreaterThan(100_000);
});

test("a runtime that is not on this machine is named with the command that installs it", async () => {
  const missing = ["crun", "runsc"].find((name) => !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`));
  await expect(world.pod({ runtimeClassName: missing })).rejects.toThrow(/needs the command \w+, which is not on PATH; install it with: /);
  await expect(world.pod({ runtimeClassName: "qemu" })).rejects.toThrow(
    'there is no runtime class "qemu" on this node; there are runc, crun, runsc',
  );
});
