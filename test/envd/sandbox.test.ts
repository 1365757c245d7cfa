import { afterAll, beforeAll, expect, test } from "vitest";
import { startRealNode, type RealNode } from "../world/real-node.ts";
import { asUser, collected, shell } from "./calls.ts";
import { armDaemon, callers, type Callers } from "./daemon.ts";

/** The daemon where it belongs: root of a user namespace, under the sandbox's init, in the image `host`. */
let node: RealNode;
let calls: Callers;
let url = "";
beforeAll(async () => {
  node = await startRealNode();
  const pod = await node.sandbox("daemon");
  url = `http://${pod.status?.podIP}:49983`;
  await armDaemon(url, { envVars: { GIVEN: "1" } }, { podUid: pod.metadata.uid ?? "", privateKey: node.privateKey });
  calls = callers(url, false);
});
afterAll(() => node[Symbol.asyncDispose]());

test("commands run as the sandbox's user, who may become root", async () => {
  // The image `host` has what the machine has.
  const root = "if command -v sudo >/dev/null; then sudo -n id -un; else echo root; fi";
  const ran = await collected(calls.process.start(shell(`id -un; pwd; echo $GIVEN; ${root}; cat /proc/self/oom_score_adj`)));
  expect(ran).toMatchObject({ stdout: "user\n/home/user\n1\nroot\n900\n", stderr: "", end: { exitCode: 0 } });
});

test("a terminal works inside, for root and for the user", async () => {
  for (const name of ["root", "user"]) {
    const ran = await collected(
      calls.process.start({ ...shell("tty && stty size && echo there > $(tty)"), pty: { size: { cols: 90, rows: 20 } } }, asUser(name)),
    );
    expect(ran.pty).toMatch(/\/dev\/pts\/\d+\r\n20 90\r\nthere/);
  }
});

test("files belong to the user, keep metadata, and are watched", async () => {
  const { watcherId } = await calls.filesystem.createWatcher({ path: "/home/user" });
  const headers = { "content-type": "application/octet-stream", "x-metadata-who": "me" };
  expect((await fetch(`${url}/files?path=notes.txt`, { method: "POST", headers, body: "text" })).status).toBe(200);
  expect((await calls.filesystem.stat({ path: "notes.txt" })).entry).toMatchObject({
    path: "/home/user/notes.txt",
    owner: "user",
    metadata: { who: "me" },
  });
  await expect.poll(async () => (await calls.filesystem.getWatcherEvents({ watcherId })).events.length).toBeGreaterThan(0);
});

test("a program that listens on the loopback only is reached at the sandbox's address", async () => {
  const server = "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1";
  const leaving = new AbortController();
  const running = collected(calls.process.start(shell(server), { signal: leaving.signal })).catch(() => undefined);
  const reached = async () => (await fetch(url.replace("49983", "8123")).catch(() => undefined))?.status;
  await expect.poll(reached).toBe(200);
  leaving.abort();
  await running;
});

test("what a command leaves behind is collected", async () => {
  await collected(calls.process.start(shell("(sleep 0.1 &) ; (setsid sleep 0.1 &)")));
  const zombies = async () =>
    (await collected(calls.process.start(shell("grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l")))).stdout;
  await expect.poll(zombies).toBe("0\n");
});

test("metrics tell of the sandbox", async () => {
  const metrics = (await (await fetch(`${url}/metrics`)).json()) as Record<string, number>;
  expect(metrics["cpu_count"]).toBeGreaterThan(0);
  expect(metrics["mem_total"]).toBeGreaterThan(metrics["mem_used"] ?? 0);
  expect(metrics["disk_total"]).toBeGreaterThan(metrics["disk_used"] ?? 0);
});
