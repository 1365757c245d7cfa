import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NodeWorld } from "./node-world.ts";

const mebibyte = 1 << 20;

let world: NodeWorld;
beforeAll(async () => {
  world = await NodeWorld.open({ diskQuota: "loop" });
});
afterAll(() => world[Symbol.asyncDispose]());

test("a container that takes more memory than it may is killed and reported so", async () => {
  const { uid } = await world.pod();
  const { exit } = await world.run(uid, {
    argv: ["/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M"],
    resources: { limits: { memory: "32Mi" } },
  });
  expect(exit).toMatchObject({ code: 137, oomKilled: true });
});

test("a container whose child takes too much memory goes on, and is not reported as killed for it when it ends by itself", async () => {
  const { uid } = await world.pod();
  const { exit, log } = await world.run(uid, {
    argv: ["/bin/sh", "-c", "dd if=/dev/zero of=/dev/null bs=200M; echo child: $?; exit 3"],
    resources: { limits: { memory: "32Mi" } },
  });
  expect(log).toContain("child: 137");
  expect(exit).toMatchObject({ code: 3, oomKilled: false });
});

test("a pod has no more processes than it may, in all of its containers together", async () => {
  const { uid } = await world.pod({ limits: { pids: 20 } });
  const first = await world.start(uid, { argv: ["/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; wait"] });
  const second = await world.start(uid, { name: "other", argv: ["/bin/sh", "-c", "for i in $(seq 40); do sleep 1000 & done; wait"] });
  await expect.poll(() => world.exits.has(second.id) || world.runtime.usage(uid).then(({ pids }) => pids <= 20 && pids > 15)).toBe(true);
  expect(world.exits.has(first.id)).toBe(false);
});

test("a container has its share of the processors and no more", async () => {
  const { uid } = await world.pod();
  const plan = await world.start(uid, {
    argv: ["/bin/sh", "-c", "while :; do :; done"],
    resources: { limits: { cpu: "200m" } },
  });
  await expect.poll(async () => (await world.runtime.usage(uid)).cpuNanos).toBeGreaterThan(40_000_000);
  const started = performance.now();
  const before = (await world.runtime.usage(uid)).cpuNanos;
  await expect.poll(() => performance.now() - started).toBeGreaterThan(1000);
  const used = ((await world.runtime.usage(uid)).cpuNanos - before) / 1e6 / (performance.now() - started);
  expect(used).toBeLessThan(0.3);
  await world.runtime.removeContainer(plan.id);
});

test("shared memory, open files and core dumps are limited", async () => {
  const { uid } = await world.pod();
  const box = await world.start(uid);
  const { out, err } = await world.sh(box.id, "dd if=/dev/zero of=/dev/shm/big bs=1M count=100; ulimit -n; ulimit -c; ls -l /dev/shm/big");
  expect(err).toContain("No space left on device");
  const [files, core, big] = out.split("\n");
  expect(Number(files)).toBeLessThanOrEqual(65_536);
  expect(core).toBe("0");
  expect(big).toContain(String(64 * mebibyte));
});

describe.each(["loop", "tmpfs"] as const)("a disk of kind %s", (diskQuota) => {
  let limited: NodeWorld;
  beforeAll(async () => {
    limited = await NodeWorld.open({ diskQuota });
  });
  afterAll(() => limited[Symbol.asyncDispose]());

  test("is full when it is full, for layers and volumes together, and is usable again when something is removed", async () => {
    const { uid } = await limited.pod({ limits: { pids: 50, ephemeralStorageBytes: 40 * mebibyte } });
    const mounts = [{ kind: "emptyDir", name: "data", path: "/data", readOnly: false, memory: false }] as const;
    const box = await limited.start(uid, { mounts, resources: { limits: { memory: "256Mi" } } });
    expect(await limited.sh(box.id, "dd if=/dev/zero of=/data/a bs=1M count=25")).toMatchObject({ code: 0 });
    const full = await limited.sh(box.id, "dd if=/dev/zero of=/tmp/b bs=1M count=25");
    expect(full.err).toContain("No space left on device");
    const { diskBytes } = await limited.runtime.usage(uid);
    expect(diskBytes).toBeGreaterThan(30 * mebibyte);
    expect(diskBytes).toBeLessThanOrEqual(40 * mebibyte);
    expect(await limited.sh(box.id, "rm /data/a && dd if=/dev/zero of=/tmp/c bs=1M count=20")).toMatchObject({ code: 0 });
  });

  test("has room for so many files and no more", async () => {
    const { uid } = await limited.pod({ limits: { pids: 50, ephemeralStorageBytes: 16 * mebibyte } });
    const box = await limited.start(uid, { argv: ["/bin/sh", "-c", "mkdir /f; i=0; while echo -n > /f/$i; do i=$((i+1)); done"] });
    await expect.poll(() => limited.logOf(box), { timeout: 30_000 }).toContain("No space left on device");
    const files = Number(/\/f\/(\d+)/.exec(limited.logOf(box))?.[1]);
    expect(files).toBeGreaterThan(1000);
    expect(files).toBeLessThan(5000);
  });

  test("belongs to the pod: a container that replaces another gets the room that this one had", async () => {
    const { uid } = await limited.pod({ limits: { pids: 50, ephemeralStorageBytes: 40 * mebibyte } });
    for (let attempt = 0; attempt < 3; attempt++) {
      const box = await limited.start(uid, { attempt });
      expect(await limited.sh(box.id, "dd if=/dev/zero of=/a bs=1M count=25")).toMatchObject({ code: 0 });
      await limited.runtime.removeContainer(box.id);
      await expect.poll(async () => (await limited.runtime.usage(uid)).diskBytes).toBeLessThan(10 * mebibyte);
    }
  });
});
