import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { DaemonError } from "#daemon-client/daemon-client.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { labelKeys } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { restAnswer } from "#model/rest.ts";
import { planEnd } from "#life/end/plan-end.ts";
import { planRecycleStart } from "#life/recycle/plan-recycle-start.ts";
import { startRealNode } from "../world/real-node.ts";
import { isRunning, key, statusOf, until } from "./agent/pods-for-real.ts";

/** In sessions of their own, deaf to hang-ups, and one that starts another whenever one ends. */
const hydra = "(setsid sh -c 'while :; do sleep 0.05 & wait; done' >/dev/null 2>&1 &) ; (nohup setsid sleep 4321 >/dev/null 2>&1 &)";
/** Has the daemon's debugger opened, as root of a sandbox can, and has it tell that everything was killed, which it no longer does. */
const lie = `
  const [{ webSocketDebuggerUrl }] = await (await fetch("http://127.0.0.1:9229/json")).json();
  const socket = new WebSocket(webSocketDebuggerUrl);
  await new Promise((resolve) => (socket.onopen = resolve));
  const expression = \`
    process.kill = () => true;
    const fs = process.mainModule.require("fs");
    const read = fs.readdirSync;
    fs.readdirSync = (path, ...more) => (path === "/proc" ? [] : read(path, ...more));
    "lies"\`;
  socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }));
  console.log(await new Promise((resolve) => (socket.onmessage = ({ data }) => resolve(data))));
  process.exit(0);
`;
const makeLiar = `
  kill -USR1 $(pgrep -o -f '^/.envd/lib/ld.so')
  until (: < /dev/tcp/127.0.0.1/9229) 2> /dev/null; do sleep 0.05; done
  /.envd/lib/ld.so --library-path /.envd/lib /.envd/node --input-type=module -e "$0"`;
const count = "(setsid sh -c 'i=0; while :; do i=$((i+1)); echo $i > /tmp/count; done' >/dev/null 2>&1 &)";
const processes = ["bash", "-c", "ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/comm | sort | uniq -c"];

async function waitingPod(parts: AsyncDisposableStack) {
  const world = parts.use(await startRealNode());
  const http = parts.adopt(openPodHttp(), (pods) => pods.close());
  const { metadata, status } = await world.sandbox("one");
  return {
    world,
    daemons: httpDaemonClient({ http, privateKey: world.privateKey }),
    at: { ip: status?.podIP ?? "", port: 49_983 },
    podUid: metadata.uid ?? "",
  };
}

test("a retired sandbox runs only its init and its daemon, whatever was started in it", async () => {
  await using parts = new AsyncDisposableStack();
  const { world, daemons, at, podUid } = await waitingPod(parts);
  const { bootId } = await daemons.health(at);
  await daemons.init(at, { podUid, bootId, sandboxId: "s1", body: {} });
  for (const user of ["root", "user"]) await world.run("one", ["bash", "-c", hydra], { user });
  expect((await world.run("one", processes)).stdout).toMatch(/sleep/);

  await daemons.retire(at, { podUid, sandboxId: "s1" });
  expect((await world.run("one", processes)).stdout).not.toMatch(/sleep|\bsh$/m);
  expect(await daemons.health(at)).toMatchObject({ bootId, sandboxId: "s1" });
  const again = daemons.init(at, { podUid, bootId, sandboxId: "s2", body: {} });
  await expect(again).rejects.toThrow(DaemonError);
});

test("a sandbox whose daemon has been started anew, and waits, takes the order to end it when it is given again", async () => {
  await using parts = new AsyncDisposableStack();
  const { daemons, at, podUid } = await waitingPod(parts);
  await expect(daemons.retire(at, { podUid, sandboxId: "s1" })).rejects.toMatchObject({ failure: "unreachable" });
  await daemons.retire(at, { podUid, sandboxId: "s1" });
  expect(await daemons.health(at)).toMatchObject({ sandboxId: "s1" });
});

test("a daemon that root has made a liar keeps nothing running: the node freezes the pod that rests, and an exchange leaves nothing", async () => {
  await using parts = new AsyncDisposableStack();
  const { world, daemons, at, podUid } = await waitingPod(parts);
  const cpu = async (): Promise<number> => (await world.node.runtime.usage(podUid)).cpuNanos;
  const write = (patch: JsonPatch): Promise<Pod> => world.store.patch(Pods, key("one"), patch);
  const { bootId } = await daemons.health(at);
  await daemons.init(at, { podUid, bootId, sandboxId: "s1", body: {} });
  const labels = { [labelKeys.sandboxId]: "s1", [labelKeys.sandboxPhase]: "running" };
  const running = await world.store.patch(Pods, key("one"), { type: "merge", body: { metadata: { labels } } });
  expect((await world.run("one", ["bash", "-c", makeLiar, lie])).stdout).toContain("lies");
  await world.run("one", ["bash", "-c", count]);

  await daemons.retire(at, { podUid, sandboxId: "s1" });
  const afterRetire = await cpu();
  await expect.poll(cpu).toBeGreaterThan(afterRetire);

  const images = { main: "host:latest-u1" };
  const released = planEnd(running, { sandboxId: "s1", fate: { kind: "recycle", images }, rests: true }, Date.now());
  if (released.kind !== "patch") throw new Error(released.kind);
  await write(released.patch);
  const resting = await until(world.store, "one", (pod) => restAnswer(pod) === "frozen");
  const used = await cpu();
  await wait(500);
  expect([(await world.node.runtime.inspect(podUid))?.frozen, await cpu()]).toEqual([true, used]);

  const exchange = planRecycleStart(resting, images, Date.now());
  if (exchange === undefined) throw new Error("the pod does not rest");
  await write(exchange);
  const recycled = await until(world.store, "one", (pod) => isRunning(pod) && statusOf(pod)?.image === images.main);
  expect([restAnswer(recycled), (await world.node.runtime.inspect(podUid))?.frozen]).toEqual([undefined, false]);
  expect((await world.run("one", ["ls", "/tmp/count"])).code).not.toBe(0);
  const served = await daemons.health(at);
  expect([served.bootId === bootId, served.sandboxId]).toEqual([false, undefined]);
  await daemons.init(at, { podUid, bootId: served.bootId, sandboxId: "s2", body: {} });
});
