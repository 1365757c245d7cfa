import { execFileSync } from "node:child_process";
import { closeSync, openSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodePaths } from "#engines/embedded/node/node-paths.ts";
import type { PodState } from "#engines/embedded/node/pod-runtime.ts";
import { type MachineState, machineState, namespacesInUse } from "./machine-state.ts";
import { NodeWorld } from "./node-world.ts";

/** The trash is emptied in the background, and the kernel takes a moment to remove a port. */
async function expectState(world: NodeWorld, before: MachineState): Promise<void> {
  await expect.poll(() => machineState(world)).toEqual(before);
}

/** The state of a node that has had a pod: folders and groups of the instance itself, and what is made ahead, are there. */
async function warm(world: NodeWorld): Promise<MachineState> {
  const limits = world.options.diskQuota === "loop" ? { pids: 50, ephemeralStorageBytes: 32 << 20 } : { pids: 50 };
  const { uid } = await world.pod({ limits });
  await world.start(uid);
  await world.runtime.removePod(uid);
  await world.closeRuntime();
  await world.openRuntime();
  return machineState(world);
}

test("a removed pod leaves nothing on the machine", async () => {
  await using world = await NodeWorld.open({ slotsAhead: 0, diskQuota: "loop" });
  const before = await warm(world);

  const egress = { internet: false, allow: ["1.1.1.1/32", "9.9.0.0/16"], deny: ["8.8.8.8/32"] };
  const pods = await Promise.all([
    world.pod({ egress }),
    world.pod(),
    world.pod({ limits: { pids: 50, ephemeralStorageBytes: 32 << 20 } }),
  ]);
  const host = await world.host();
  for (const { uid } of pods) {
    const mounts = [
      { kind: "emptyDir", name: "disk", path: "/disk", readOnly: false, memory: false },
      { kind: "emptyDir", name: "ram", path: "/ram", readOnly: false, memory: true },
      { kind: "files", name: "files", path: "/files", files: [{ path: "a", content: Buffer.from("a"), mode: 0o644 }] },
    ] as const;
    const box = await world.start(uid, { mounts });
    await world.start(uid, { name: "host", image: host });
    await world.runtime.createContainer(world.plan(uid, { name: "created" }));
    await world.sh(box.id, "echo x | dd of=/disk/x; echo x > /ram/x; mkdir -p /tmp/a/b; (sleep 1000 &) ; (nc -l -p 99 &)");
  }
  expect(machineState(world).mounts.length).toBeGreaterThan(before.mounts.length);
  await Promise.all(pods.map(({ uid }) => world.runtime.removePod(uid)));
  await world.closeRuntime();
  await world.openRuntime();
  await expectState(world, before);
});

test("no process, mount or namespace of a removed pod is left, and a container leaves no mount while it runs", async () => {
  await using world = await NodeWorld.open({ slotsAhead: 0 });
  const empty = await warm(world);
  const { uid, slot } = await world.pod();
  const idle = machineState(world);
  const box = await world.start(uid);
  expect(machineState(world).mounts).toEqual(idle.mounts);
  const folder = join(`/run/agentbox-${world.options.instance}`, "slots", String(slot));
  const namespaces = (["user", "net"] as const).map((kind) => ({ kind, name: `${kind}:[${statSync(join(folder, kind)).ino}]` }));
  for (const { kind, name } of namespaces) expect(namespacesInUse(kind)).toContain(name);
  // The kernel gives the number of a namespace that is gone to the next one, but not while a process holds it.
  const held = namespaces.map(({ kind }) => openSync(join(folder, kind), "r"));
  await world.runtime.removePod(uid);
  for (const { kind, name } of namespaces) expect(namespacesInUse(kind)).not.toContain(name);
  held.forEach((descriptor) => closeSync(descriptor));
  expect(await world.exitOf(box.id)).toMatchObject({ code: 137 });
  await expectState(world, empty);
});

test("a pod whose container cannot be made is removed as cleanly", async () => {
  await using world = await NodeWorld.open({ slotsAhead: 0 });
  const before = await warm(world);
  const { uid } = await world.pod();
  await expect(world.runtime.createContainer(world.plan(uid, { argv: ["/bin/nothing"] }))).rejects.toThrow(/nothing/);
  await expect(world.runtime.createContainer(world.plan(uid, { workingDir: "/dev/null/x" }))).rejects.toThrow(/runc create/);
  await expect(world.runtime.createContainer(world.plan(uid, { security: { addCapabilities: ["SYS_ADMIN"] } }))).rejects.toThrow(
    /cannot have/,
  );
  const broken = { ...world.busybox, layers: ["/nowhere"] };
  await expect(world.runtime.createContainer(world.plan(uid, { image: broken }))).rejects.toThrow(/ENOENT/);
  await world.runtime.removePod(uid);
  await expectState(world, before);
});

test("a pod has another address than the one before it, as long as there are others", async () => {
  await using world = await NodeWorld.open({ slotsAhead: 1, slots: 4 });
  const seen: string[] = [];
  for (let round = 0; round < 4; round++) {
    const { uid, ip } = await world.pod();
    await world.runtime.removePod(uid);
    seen.push(ip);
  }
  expect(new Set(seen).size).toBe(4);
});

test("a pod that gets the slot of another one finds nothing that was done to its network or its users", async () => {
  await using world = await NodeWorld.open({ slotsAhead: 0, slots: 1 });
  const inside = (command: string): string =>
    execFileSync("nsenter", [`--net=/run/agentbox-${world.options.instance}/slots/0/net`, "sh", "-c", command], { encoding: "utf8" });
  const look = "ip -o addr | wc -l; ip route | wc -l; ip neigh | wc -l; cat /proc/sys/net/ipv4/ip_default_ttl; ls /proc/sys/net/ipv4/conf";
  const first = await world.pod();
  const clean = inside(look);
  inside("ip link add evil type bridge; ip route add 9.9.9.9/32 dev lo; echo 7 > /proc/sys/net/ipv4/ip_default_ttl");
  expect(inside(look)).not.toBe(clean);
  await world.runtime.removePod(first.uid);
  const again = (): Promise<PodState | string> => world.pod().catch(String);
  // The port of the first one goes away in its own time.
  await expect.poll(again).toMatchObject({ slot: 0 });
  expect(inside(look)).toBe(clean);
});

test("when all slots are taken a pod is refused with the reason, and a removed pod makes room", async () => {
  await using world = await NodeWorld.open({ slots: 2, slotsAhead: 1 });
  const [first] = [await world.pod(), await world.pod()];
  await expect(world.pod()).rejects.toThrow("all 2 slots of this node are in use");
  await world.runtime.removePod(first.uid);
  await expect.poll(() => world.pod().then(({ slot }) => slot, String)).toBe(first.slot);
});

test("an erased instance leaves nothing at all", async () => {
  const world = await NodeWorld.open();
  const { uid } = await world.pod();
  await world.start(uid);
  await world[Symbol.asyncDispose]();
  await expect
    .poll(() => machineState(world))
    .toEqual({ mounts: [], groups: [], links: [], rules: [], folders: [], loops: [], processes: [] });
});

test("an instance whose records this version cannot read is erased all the same", async () => {
  const world = await NodeWorld.open({ diskQuota: "loop" });
  const [first, second] = [await world.pod({ limits: { pids: 50, ephemeralStorageBytes: 32 << 20 } }), await world.pod()];
  for (const { uid } of [first, second]) await world.start(uid);
  await world.closeRuntime();
  const { pods } = nodePaths(world.options.home, world.options.instance);
  writeFileSync(join(pods, first.uid, "pod.json"), '{"of":"another version"}');
  writeFileSync(join(pods, second.uid, "pod.json"), "not even JSON");
  await world[Symbol.asyncDispose]();
  await expect
    .poll(() => machineState(world))
    .toEqual({ mounts: [], groups: [], links: [], rules: [], folders: [], loops: [], processes: [] });
});
