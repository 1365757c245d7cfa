/** Images and sandboxes that try to hold up the commands of the OCI runtime: none may stop the node or leave a process on the machine. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { NodeWorld } from "../runtime/node-world.ts";

const commandMs = 3_000;
let world: NodeWorld;
let folder: string;
beforeAll(async () => {
  world = await NodeWorld.open({ commandMs });
  folder = mkdtempSync(join(tmpdir(), "agentbox-hostile-"));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** The small image with a FIFO at this place. */
function imageWithFifo(path: string): ResolvedImage {
  const layer = mkdtempSync(join(folder, "layer-"));
  cpSync(world.busybox.layers[0] ?? "", layer, { recursive: true, verbatimSymlinks: true });
  rmSync(join(layer, path), { force: true });
  execFileSync("/usr/bin/mkfifo", [join(layer, path)]);
  return { ...world.busybox, layers: [layer] };
}

/** Commands of the runtime on the machine, of this node. */
function runtimeCommands(): string[] {
  const running = readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")] : [];
    } catch {
      return [];
    }
  });
  return running.filter((line) => /\brunc\b/.test(line) && line.includes(world.options.instance));
}

/** Callers are told that the command could not be run, and the log why. */
function causeOf(error: unknown): string {
  return String(error instanceof Error ? (error.cause ?? error) : error);
}

/** Stops every process of the runtime that comes into the container, before it becomes what it is to be. */
const stopsTheRuntime =
  'while :; do for p in /proc/[0-9]*; do read n <$p/comm && case "$n" in runc*) kill -STOP ${p#/proc/};; esac; done 2>/dev/null; done';

describe("an image with a FIFO where a file belongs", () => {
  test.each(["etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf", "bin/sleep"])("at %s is refused by name", async (path) => {
    const { uid } = await world.pod();
    await expect(world.start(uid, { image: imageWithFifo(path) })).rejects.toThrow(`/${path} of the container is a FIFO`);
    await world.runtime.removePod(uid);
    expect(runtimeCommands()).toEqual([]);
  });
});

describe("a sandbox", () => {
  test("that puts a FIFO at /etc/group has its commands refused, and leaves no process of the runtime", async () => {
    const { uid } = await world.pod();
    const box = await world.start(uid);
    await world.sh(box.id, "busybox rm /etc/group; busybox mkfifo /etc/group");
    const refusals = await Promise.allSettled(Array.from({ length: 4 }, () => world.sh(box.id, "true")));
    expect(refusals.map((one) => (one.status === "rejected" ? String(one.reason) : "ran"))).toEqual(
      Array.from({ length: 4 }, () => expect.stringContaining("/etc/group of the container is a FIFO")),
    );
    expect(runtimeCommands()).toEqual([]);
    await world.runtime.removePod(uid);
  });

  test("that stops the runtime's processes in it fails the commands in time, and keeps nobody else waiting", async () => {
    const [bad, good] = [await world.pod(), await world.pod()];
    const box = await world.start(bad.uid, { argv: ["/bin/sh", "-c", stopsTheRuntime] });
    const neighbour = await world.start(good.uid);
    const stuck = Array.from({ length: 4 }, () => world.sh(box.id, "sleep 100").then(() => "ran", causeOf));
    expect(await world.sh(neighbour.id, "echo fine")).toMatchObject({ out: "fine\n" });
    expect(await Promise.all(stuck)).toEqual(stuck.map(() => expect.stringContaining("runc exec did not end within 3 s")));
    await expect.poll(runtimeCommands).toEqual([]);
    await world.runtime.removePod(bad.uid);
  });

  test("cannot keep a client that has left from taking its command along", async () => {
    const { uid } = await world.pod();
    const box = await world.start(uid, { argv: ["/bin/sh", "-c", stopsTheRuntime] });
    const client = new AbortController();
    const running = world.sh(box.id, "sleep 100", { signal: client.signal });
    await expect.poll(() => runtimeCommands().length).toBeGreaterThan(0);
    client.abort(new Error("the client left"));
    await expect(running).rejects.toThrow("the client left");
    await expect.poll(runtimeCommands).toEqual([]);
    await world.runtime.removePod(uid);
  });

  test("cannot keep the node from closing", async () => {
    const { uid } = await world.pod();
    const box = await world.start(uid, { argv: ["/bin/sh", "-c", stopsTheRuntime] });
    const stuck = world.sh(box.id, "sleep 100").then(() => "ran", causeOf);
    await expect.poll(() => runtimeCommands().length).toBeGreaterThan(0);
    await world.closeRuntime();
    expect(await stuck).toContain("the node closes");
    await expect.poll(runtimeCommands).toEqual([]);
    await world.openRuntime();
    await world.runtime.removePod(uid);
  });
});
