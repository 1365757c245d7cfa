import { appendFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";
import { eventually } from "../../../../../test/world/eventually.ts";
import type { ReadLogs } from "#kube/pod-access.ts";

const key = { namespace: "default", name: "a" };

async function logs(world: NodeWorld, request: Partial<ReadLogs> = {}): Promise<string> {
  return text(world.agent.readLogs({ pod: key, ...request }));
}

/** Containers of the simulated machine write nothing by themselves. */
async function write(world: NodeWorld, what: string, container = "main"): Promise<void> {
  const { id = "" } = world.runtime.container("a", container) ?? {};
  const file = world.runtime.plan(id)?.logFile ?? "";
  await mkdir(dirname(file), { recursive: true });
  await appendFile(file, what);
}

describe("logs", () => {
  test("are those of the first container, or of one by its name", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer(), aContainer({ name: "side" })] });
    await write(world, "from main\n");
    await write(world, "from side\n", "side");
    expect(await logs(world)).toBe("from main\n");
    expect(await logs(world, { container: "side" })).toBe("from side\n");
  });

  test("of the attempt before are there after a restart", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a");
    await expect(logs(world, { previous: true })).rejects.toMatchObject({ code: "not_found" });
    await write(world, "first life\n");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 1 });
    await world.step(0);
    await write(world, "second life\n");
    expect(await logs(world)).toBe("second life\n");
    expect(await logs(world, { previous: true })).toBe("first life\n");
  });

  test("of a pod that has ended stay until the object goes", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { restartPolicy: "Never" });
    await write(world, "done\n");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "");
    await world.step(100);
    expect(world.runtime.present()).toEqual([]);
    expect(await logs(world)).toBe("done\n");
    await world.deletePod("a");
    await eventually(async () => expect(await readdir(join(world.home, "logs", "pods"))).toEqual([]));
  });

  test("of a pod that is not there, of a container that is not, and of one that has not begun, are refused", async () => {
    await using world = await NodeWorld.start();
    world.images.pullFor(() => 3_600_000);
    await expect(logs(world)).rejects.toThrow("there is no pod default/a");
    await world.createPod("a");
    await expect(logs(world, { container: "other" })).rejects.toThrow("the pod default/a has no container other; it has: main");
    await expect(logs(world)).rejects.toThrow("has not been started yet");
  });

  test("can be followed until the container ends", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { restartPolicy: "Never" });
    await write(world, "one\n");
    const followed = logs(world, { follow: new AbortController().signal });
    await write(world, "two\n");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "");
    let all: string | undefined;
    void followed.then((read) => (all = read));
    await eventually(async () => {
      await world.step(100);
      expect(all).toBe("one\ntwo\n");
    });
  });

  test("end up in the status of a container that failed, if it asks for that", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ terminationMessagePolicy: "FallbackToLogsOnError" })] });
    await write(world, "cannot find the settings\n");
    world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 1 });
    await world.step(0);
    expect(await world.containerStatus("a")).toMatchObject({ lastState: { terminated: { message: "cannot find the settings\n" } } });
  });
});

describe("commands", () => {
  test("run in the container that runs", async () => {
    await using world = await NodeWorld.start();
    world.runtime.answerExec((plan, argv) => ({ code: 3, output: `${plan.name}: ${argv.join(" ")}` }));
    await world.createPod("a", { containers: [aContainer(), aContainer({ name: "side" })] });
    const session = await world.agent.exec({ pod: key, container: "side", command: { argv: ["echo", "hi"] } });
    await world.step(0);
    expect(await text(session.stdout)).toBe("side: echo hi");
    expect(await session.exitCode).toBe(3);
  });

  test("are refused while it does not", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ exitsAfterMs: 0, exitCode: 1 }));
    await world.createPod("a");
    await expect(world.agent.exec({ pod: key, command: { argv: ["x"] } })).rejects.toMatchObject({
      code: "not_running",
      message: "the container main of default/a is not running",
    });
  });
});

test("a log that a follower reads from its end on begins with what comes", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a", { restartPolicy: "Never" });
  const file = world.runtime.plan(world.runtime.container("a", "main")?.id ?? "")?.logFile ?? "";
  await writeFile(file, "before\n");
  let all = "";
  void (async () => {
    for await (const chunk of world.agent.readLogs({ pod: key, tail: 0, follow: new AbortController().signal })) all += chunk.toString();
  })();
  await eventually(async () => {
    await world.step(100);
    if (all === "") await appendFile(file, "after\n");
    expect(all).toMatch(/^(after\n)+$/);
  });
});
