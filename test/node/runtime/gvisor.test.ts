import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findCommand } from "#engines/embedded/node/runtime/find-command.ts";
import { machineState } from "./machine-state.ts";
import { NodeWorld } from "./node-world.ts";
import { Outside } from "./outside.ts";

/** Only where it is installed: few machines have it, and building it takes minutes. */
describe.runIf(findCommand("runsc") !== undefined)("a pod of the runtime class runsc", () => {
  let outside: Outside;
  let world: NodeWorld;
  beforeAll(async () => {
    outside = await Outside.open();
    world = await NodeWorld.open({
      slotsAhead: 1,
      network: { subnet: NodeWorld.freeSubnet(), uplinks: [outside.uplink], nameservers: [] },
    });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await outside[Symbol.asyncDispose]();
  });

  test("runs under gVisor's kernel, as the user that the image knows, with commands and exit codes", async () => {
    const { uid } = await world.pod({ runtimeClassName: "runsc" });
    const box = await world.start(uid, { image: await world.host(), argv: ["/bin/sleep", "1000"] });
    const { out, code } = await world.sh(box.id, "uname -r; id -un; exit 4", { user: "user" });
    expect(out).toMatch(/gvisor\nuser\n/);
    expect(code).toBe(4);
    await world.runtime.signalContainer(box.id, "SIGTERM");
    expect(await world.exitOf(box.id)).toMatchObject({ code: 143 });
    expect(await world.run(uid, { argv: ["/bin/sh", "-c", "echo hi; exit 5"], attempt: 1 })).toMatchObject({
      exit: { code: 5 },
      log: "hi\n",
    });
  });

  test("keeps its address when a container is replaced", async () => {
    const { uid } = await world.pod({ runtimeClassName: "runsc" });
    for (let attempt = 0; attempt < 2; attempt++) {
      const box = await world.start(uid, { attempt });
      expect(await world.exec(box.id, ["/bin/nc", "-w", "3", outside.address, "80"])).toMatchObject({ out: `${outside.machine}\n` });
      await world.runtime.removeContainer(box.id);
    }
  });

  test("can still be removed when the machine has lost its runtime", async () => {
    const { uid } = await world.pod({ runtimeClassName: "runsc" });
    const box = await world.start(uid);
    await world.closeRuntime();
    const path = process.env["PATH"];
    process.env["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin";
    try {
      await world.openRuntime();
      await expect(world.sh(box.id, "true")).rejects.toThrow("needs the command runsc, which is not on PATH");
      await world.runtime.removePod(uid);
      expect(await world.exitOf(box.id)).toMatchObject({ code: 137 });
    } finally {
      process.env["PATH"] = path;
    }
  });

  test("is adopted and removed like any other", async () => {
    const { uid } = await world.pod({ runtimeClassName: "runsc" });
    const box = await world.start(uid);
    await world.closeRuntime();
    const pods = await world.openRuntime();
    expect(pods.find((pod) => pod.uid === uid)?.containers).toMatchObject([{ id: box.id, state: "running" }]);
    expect(await world.sh(box.id, "echo still here")).toMatchObject({ out: "still here\n" });
    for (const pod of pods) await world.runtime.removePod(pod.uid);
    await expect.poll(() => machineState(world).processes).toEqual([]);
    expect(machineState(world).folders.filter((path) => /runtimes\/runsc\/.*[0-9a-f]{64}/.test(path))).toEqual([]);
  });
});
