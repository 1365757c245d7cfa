import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";

/** Notes the longest time in which it did not run. */
const gaps = `
import os, time
longest = 0
last = time.monotonic()
while True:
    time.sleep(0.02)
    now = time.monotonic()
    longest, last = max(longest, now - last), now
    with open("longest.new", "w") as file:
        file.write(str(longest))
    os.rename("longest.new", "longest")
`;

/** The server's time is real, and so a case about it takes as long. */
function passed(ms: number): Promise<void> {
  const since = Date.now();
  return eventually(() => expect(Date.now() - since).toBeGreaterThan(ms));
}

describeSdks(
  "pausing",
  (use) => {
    const stateOf = async (sandboxId: string): Promise<string> => (await use.sdk.Sandbox.getInfo(sandboxId)).state;

    test("a paused sandbox keeps its processes and files, and goes on where it was", async () => {
      const sandbox = await use.create();
      const { pid } = await sandbox.commands.run("sleep 1234", { background: true, timeoutMs: 0 });
      await sandbox.files.write("kept", "still");
      await sandbox.pause();
      expect(await stateOf(sandbox.sandboxId)).toBe("paused");
      const again = await use.sdk.Sandbox.connect(sandbox.sandboxId);
      expect((await again.getInfo()).state).toBe("running");
      expect((await again.commands.list()).map((one) => one.pid)).toContain(pid);
      expect((await again.commands.run(`kill -0 ${pid} && echo alive`)).stdout).toBe("alive\n");
      expect(await again.files.read("kept")).toBe("still");
    });

    test("nothing runs in it while it is paused", async () => {
      const sandbox = await use.create();
      await sandbox.files.write("gaps.py", gaps);
      await sandbox.commands.run("python3 gaps.py", { background: true, timeoutMs: 0 });
      const longest = async (): Promise<number> => Number(await sandbox.files.read("longest"));
      await eventually(async () => expect(await longest()).toBeGreaterThan(0));
      await sandbox.pause();
      await passed(3000);
      await use.sdk.Sandbox.connect(sandbox.sandboxId);
      await eventually(async () => expect(await longest()).toBeGreaterThan(2.5));
    });

    test("a sandbox is paused again and again", async () => {
      const sandbox = await use.create();
      for (let n = 0; n < 3; n++) {
        await sandbox.pause();
        await sandbox.connect();
        expect((await sandbox.commands.run(`echo ${n} >> rounds; wc -l < rounds`)).stdout.trim()).toBe(`${n + 1}`);
      }
    });

    test("pausing what is paused changes nothing", async () => {
      const sandbox = await use.create();
      await sandbox.pause();
      expect(await use.sdk.Sandbox.pause(sandbox.sandboxId)).toBe(false);
      expect(await stateOf(sandbox.sandboxId)).toBe("paused");
    });

    test("pausing one that never was is an error of its own", async () => {
      await expect(use.sdk.Sandbox.pause("inosuchsandbox")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
    });

    test("paused ones are listed as such", async () => {
      const mark = `${use.version}-${use.mode}-paused`;
      const sandbox = await use.create({ metadata: { mark } });
      await sandbox.pause();
      const states = async (state: "running" | "paused"): Promise<number> =>
        (await use.sdk.Sandbox.list({ query: { metadata: { mark }, state: [state] } }).nextItems()).length;
      expect([await states("paused"), await states("running")]).toEqual([1, 0]);
    });

    test("a paused one can be killed", async () => {
      const sandbox = await use.create();
      await sandbox.pause();
      expect(await use.sdk.Sandbox.kill(sandbox.sandboxId)).toBe(true);
      expect(await use.sdk.Sandbox.kill(sandbox.sandboxId)).toBe(false);
    });

    test("it outlives its time", async () => {
      const sandbox = await use.create({ timeoutMs: 3000 });
      await sandbox.pause();
      await passed(4000);
      expect(await stateOf(sandbox.sandboxId)).toBe("paused");
      await use.sdk.Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 });
      expect((await sandbox.commands.run("echo back")).stdout).toBe("back\n");
    });

    test("one that is made to pause does so when its time is over, and is woken by who connects", async () => {
      const sandbox = await use.create({ timeoutMs: 2000, lifecycle: { onTimeout: "pause" } });
      const { pid } = await sandbox.commands.run("sleep 1234", { background: true, timeoutMs: 0 });
      await eventually(async () => expect(await stateOf(sandbox.sandboxId)).toBe("paused"));
      const again = await use.sdk.Sandbox.connect(sandbox.sandboxId, { timeoutMs: 60_000 });
      expect((await again.commands.run(`kill -0 ${pid} && echo alive`)).stdout).toBe("alive\n");
    });

    test("one that is made to wake does so by a command that comes for it", async () => {
      const sandbox = await use.create({ timeoutMs: 2000, lifecycle: { onTimeout: "pause", autoResume: true } });
      await sandbox.files.write("kept", "still");
      await eventually(async () => expect(await stateOf(sandbox.sandboxId)).toBe("paused"));
      expect((await sandbox.commands.run("cat kept")).stdout).toBe("still");
      expect(await stateOf(sandbox.sandboxId)).toBe("running");
    });

    test("one that is made to wake does so by a request for its host", async () => {
      const sandbox = await use.create({ lifecycle: { onTimeout: "pause", autoResume: true } });
      await sandbox.files.write("site/index.html", "awake");
      await sandbox.commands.run("python3 -m http.server 8000 --directory site", { background: true, timeoutMs: 0 });
      const get = async (): Promise<string> => (await fetch(`https://${sandbox.getHost(8000)}/`)).text();
      await eventually(async () => expect(await get()).toBe("awake"));
      await sandbox.pause();
      expect(await get()).toBe("awake");
    });

    test("one that is not made to wake stays paused, and a command in it is an error", async () => {
      const sandbox = await use.create();
      await sandbox.pause();
      await expect(sandbox.commands.run("echo hi")).rejects.toBeInstanceOf(use.sdk.SandboxError);
      expect(await stateOf(sandbox.sandboxId)).toBe("paused");
    });
  },
  { needs: "pausing" },
);
