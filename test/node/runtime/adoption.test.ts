import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { machineState } from "./machine-state.ts";
import type { NodeTask } from "./node-process.ts";
import { NodeWorld } from "./node-world.ts";

interface Line {
  readonly done?: boolean;
  readonly id?: string;
  readonly ip?: string;
  readonly pid?: number;
  readonly uid?: string;
}

class NodeChild {
  readonly #child: ChildProcess;
  readonly lines: AsyncIterator<Line>;

  constructor(world: NodeWorld, kind: NodeTask["kind"], containers: NodeTask["containers"]) {
    const { clock: _, log: __, ...options } = world.options;
    const task = JSON.stringify({ kind, options, containers } satisfies NodeTask);
    this.#child = spawn(process.execPath, [join(import.meta.dirname, "node-process.ts"), task], { stdio: ["ignore", "pipe", "inherit"] });
    this.lines = parsed(this.#child);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null) throw new Error(`the node's process ended by itself with ${this.#child.exitCode}`);
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

async function* parsed(child: ChildProcess): AsyncGenerator<Line> {
  if (child.stdout === null) return;
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as Line;
}

/** Lets a process make some containers, and kills it. */
async function madeByAnother(world: NodeWorld, containers: NodeTask["containers"]): Promise<Line[]> {
  const child = new NodeChild(world, "pods", containers);
  const said: Line[] = [];
  for (let { value } = await child.lines.next(); value?.done !== true; { value } = await child.lines.next()) said.push(value);
  await child.kill();
  return said;
}

test("containers go on when the node is killed, and the next one adopts them as they are", async () => {
  await using world = NodeWorld.closed();
  const talker = "echo started; trap 'echo bye; exit 4' TERM; while :; do sleep 0.02; done";
  const containers = [
    { ...world.plan("pod-a", { argv: ["/bin/sh", "-c", talker] }), start: true },
    { ...world.plan("pod-b", { annotations: { made: "before" }, attempt: 3 }), start: true },
    { ...world.plan("pod-c", { argv: ["/bin/sh", "-c", "echo late"] }), start: false },
    { ...world.plan("pod-d", { argv: ["/bin/sh", "-c", "exit 6"] }), start: true },
  ];
  const said = await madeByAnother(world, containers);
  const [a, b, c, d] = containers.map(({ id }) => id) as [string, string, string, string];
  process.kill(said[1]?.pid ?? 0, "SIGKILL");

  const pods = new Map((await world.openRuntime()).map((pod) => [pod.uid, pod]));
  expect([...pods.keys()].sort()).toEqual(["pod-a", "pod-b", "pod-c", "pod-d"]);
  expect(pods.get("pod-a")).toMatchObject({ ip: said[0]?.ip, containers: [{ id: a, state: "running" }] });
  expect(pods.get("pod-b")?.containers).toMatchObject([{ id: b, attempt: 3, annotations: { made: "before" } }]);
  expect(pods.get("pod-c")?.containers).toMatchObject([{ id: c, state: "created" }]);
  // It ended while no agent ran: the end is reported; the exit code only if its parent has not collected it yet.
  expect([137, 255]).toContain((await world.exitOf(b)).code);
  expect((await world.runtime.inspect("pod-d"))?.containers).toMatchObject([{ id: d, state: "exited", exit: { code: 6 } }]);

  expect(await world.sh(a, "cat /proc/1/cmdline")).toMatchObject({ code: 0 });
  await world.runtime.startContainer(c);
  expect(await world.exitOf(c)).toMatchObject({ code: 0 });
  await world.runtime.signalContainer(a, "SIGTERM");
  // Its parent is now the machine's first process, and still its exit code is known.
  expect(await world.exitOf(a)).toMatchObject({ code: 4 });
  expect(readFileSync(containers[0]?.logFile ?? "", "utf8")).toBe("started\nbye\n");
  expect(readFileSync(containers[2]?.logFile ?? "", "utf8")).toBe("late\n");
});

test("two processes cannot run one node", async () => {
  await using world = await NodeWorld.open();
  const other = NodeWorld.closed(world.options);
  await expect(other.openRuntime()).rejects.toThrow(/another process runs the node .*: it holds .*lock/);
});

test("a node that is closed and opened again in the same process keeps its containers and their exit codes", async () => {
  await using world = await NodeWorld.open();
  const { uid } = await world.pod();
  const plan = await world.start(uid, { argv: ["/bin/sh", "-c", "trap 'exit 5' TERM; while :; do sleep 0.02; done"] });
  await world.closeRuntime();
  expect(await world.openRuntime()).toMatchObject([{ uid, containers: [{ id: plan.id, state: "running" }] }]);
  await expect.poll(async () => (await world.sh(plan.id, "ps")).out).toContain("sleep 0.02");
  await world.runtime.signalContainer(plan.id, "SIGTERM");
  expect(await world.exitOf(plan.id)).toMatchObject({ code: 5 });
});

/** Opens the node, uses all containers and removes all pods; gives what did not work. */
async function useAndRemove(world: NodeWorld): Promise<string[]> {
  const broken: string[] = [];
  for (const pod of await world.openRuntime()) {
    for (const { id, state } of pod.containers) {
      if (state === "exited") continue;
      if (state === "created") await world.runtime.startContainer(id);
      const said = await world.sh(id, "echo alive").then(({ out }) => out, String);
      if (said === "alive\n") continue;
      // It may have been killed by its node, together with it, and end only now.
      const ended = await Promise.race([world.exitOf(id), new Promise((resolve) => setTimeout(resolve, 500, undefined))]);
      if (ended === undefined) broken.push(`${id}: ${said}`);
    }
    await world.runtime.removePod(pod.uid);
  }
  return broken;
}

test("however a node is killed while pods come and go, the next one finds only whole pods and leaves nothing behind", async () => {
  const rounds = Number(process.env["AGENTBOX_TEST_KILLS"] ?? 8);
  await using world = NodeWorld.closed({ diskQuota: "loop", slotsAhead: 2 });
  await world.openRuntime();
  const first = await world.pod({ limits: { pids: 9, ephemeralStorageBytes: 20 << 20 } });
  await world.start(first.uid);
  await world.runtime.removePod(first.uid);
  await world.closeRuntime();
  for (let round = 0; round < rounds; round++) {
    const child = new NodeChild(world, "churn", [{ ...world.plan("any"), start: true }]);
    for (let made = randomInt(1, 6); made > 0; made--) await child.lines.next();
    await new Promise((resolve) => setTimeout(resolve, randomInt(150)));
    await child.kill();
    expect(await useAndRemove(world)).toEqual([]);
    await world.closeRuntime();
    const { mounts, groups, folders, processes, loops } = machineState(world);
    expect({ mounts, processes, loops }).toEqual({ mounts: [expect.stringContaining("tmpfs /run/")], processes: [], loops: [] });
    expect(groups.filter((group) => group.split("/").length > 6)).toEqual([]);
    expect(folders.filter((path) => /\/(pods|slots|stage|folders|runc|scratch|files)\/(?!template-)/.test(path))).toEqual([]);
  }
}, 120_000);
