import { spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { daemonFolder, sweepDaemonFolders } from "#engines/embedded/node/daemon/daemon-folder.ts";
import { header, publicKeyText } from "#envd-protocol/arming.ts";
import { freePort } from "../world/free-port.ts";

let parent = "";
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "agentbox-daemon-"));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

async function answer(url: string): Promise<Response> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined) return response;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("the daemon runs with nothing but what is in its folder", async () => {
  const folder = await daemonFolder({ parent });
  const port = await freePort();
  const env = {
    AGENTBOX_POD_UID: "pod-1",
    AGENTBOX_PUBLIC_KEY: publicKeyText(generateKeyPairSync("ed25519").publicKey),
    AGENTBOX_ENVD_PORT: String(port),
  };
  const loader = [join(folder, "lib/ld.so"), "--library-path", join(folder, "lib")];
  const child = spawn(join(folder, "init"), ["-s", "--", ...loader, join(folder, "node"), join(folder, "envd.cjs")], {
    env,
    stdio: "inherit",
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const health = await answer(`http://127.0.0.1:${port}/health`);
  expect(health.status).toBe(204);
  expect(health.headers.get(header.podUid)).toBe("pod-1");
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});

test("the folder is made once for the same sources and found again", async () => {
  const first = await daemonFolder({ parent });
  expect(await daemonFolder({ parent })).toBe(first);
  expect(await readdir(parent)).toHaveLength(1);
});

test("two processes that make it at the same time get the same folder", async () => {
  const [first, second] = await Promise.all([daemonFolder({ parent }), daemonFolder({ parent })]);
  expect(second).toBe(first);
  expect(await readdir(parent)).toHaveLength(1);
});

test("folders that no container uses are swept", async () => {
  const folder = await daemonFolder({ parent });
  await sweepDaemonFolders(parent, new Set([folder]));
  expect(await readdir(parent)).toHaveLength(1);
  await sweepDaemonFolders(parent, new Set());
  expect(await readdir(parent)).toEqual([]);
});

test("a machine without the static init is told the command that installs it", async () => {
  await expect(daemonFolder({ parent, init: join(parent, "none") })).rejects.toThrow("apt-get install -y tini");
});
