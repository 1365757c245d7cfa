import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";
import type { SandboxInfo } from "./sdk.ts";

describeSdks("sandboxes", (use) => {
  test("one is made from the default template, with an id that fits into a host name", async () => {
    expect(use.sandbox.sandboxId).toMatch(/^[a-z0-9]+$/);
    expect(await use.sandbox.getInfo()).toMatchObject({
      sandboxId: use.sandbox.sandboxId,
      templateId: "base",
      name: "base",
      state: "running",
    });
  });

  test("a template that is not there is an error that names it", async () => {
    await expect(use.sdk.Sandbox.create("no-such-template")).rejects.toThrow(/no-such-template/);
  });

  test("a template may be named with a tag", async () => {
    const sandbox = await use.sdk.Sandbox.create("base:default", { timeoutMs: 60_000 });
    expect(await use.sdk.Sandbox.kill(sandbox.sandboxId)).toBe(true);
  });

  test("a wrong key is an authentication error", async () => {
    const wrong = use.sdk.Sandbox.create({ apiKey: `e2b_${"0".repeat(40)}` });
    await expect(wrong).rejects.toBeInstanceOf(use.sdk.AuthenticationError);
  });

  test("its variables are in all commands, and those of a command come before them", async () => {
    const sandbox = await use.create({ envs: { A: "sandbox", B: "sandbox" } });
    expect((await sandbox.commands.run("echo $A $B", { envs: { B: "command" } })).stdout).toBe("sandbox command\n");
  });

  test("its metadata is told again, and it is found by them", async () => {
    const metadata = { "user id": "a=b&c", mark: `${use.version}-${use.mode}-ü` };
    const sandbox = await use.create({ metadata });
    expect((await sandbox.getInfo()).metadata).toEqual(metadata);
    const found = await use.sdk.Sandbox.list({ query: { metadata } }).nextItems();
    expect(found.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(await use.sdk.Sandbox.list({ query: { metadata: { mark: "another" } } }).nextItems()).toEqual([]);
  });

  test("lists come in pages, newest first, each sandbox once", async () => {
    const mark = `${use.version}-${use.mode}-pages`;
    const made: string[] = [];
    for (let n = 0; n < 3; n++) made.push((await use.create({ metadata: { mark } })).sandboxId);
    const pages = use.sdk.Sandbox.list({ query: { metadata: { mark } }, limit: 2 });
    const [first, more] = [await pages.nextItems(), pages.hasNext];
    const [second, end] = [await pages.nextItems(), pages.hasNext];
    expect([first.length, more, second.length, end]).toEqual([2, true, 1, false]);
    expect([...first, ...second].map(({ sandboxId }) => sandboxId)).toEqual(made.toReversed());
  });

  test("it is known how long it lives, and that can be changed both ways", async () => {
    const sandbox = await use.create({ timeoutMs: 120_000 });
    const left = ({ endAt }: SandboxInfo): number => (endAt.getTime() - Date.now()) / 1000;
    const [first] = [left(await sandbox.getInfo())];
    await sandbox.setTimeout(600_000);
    const longer = left(await sandbox.getInfo());
    await use.sdk.Sandbox.setTimeout(sandbox.sandboxId, 60_000);
    const shorter = left(await sandbox.getInfo());
    expect([Math.round(first / 30), Math.round(longer / 30), Math.round(shorter / 30)]).toEqual([4, 20, 2]);
  });

  test("it ends when its time is over", async () => {
    const sandbox = await use.create({ timeoutMs: 2000 });
    await eventually(async () => expect(await sandbox.isRunning()).toBe(false));
    await expect(sandbox.getInfo()).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("another program connects to it and sees the same files", async () => {
    await use.sandbox.files.write("shared", "by the first");
    const other = await use.sdk.Sandbox.connect(use.sandbox.sandboxId);
    expect(other.sandboxId).toBe(use.sandbox.sandboxId);
    expect(await other.files.read("shared")).toBe("by the first");
  });

  test("connecting never makes its end come earlier", async () => {
    const before = (await use.sandbox.getInfo()).endAt.getTime();
    await use.sdk.Sandbox.connect(use.sandbox.sandboxId, { timeoutMs: 10_000 });
    expect((await use.sandbox.getInfo()).endAt.getTime()).toBeGreaterThanOrEqual(before);
  });

  test("connecting to one that never was is an error of its own", async () => {
    await expect(use.sdk.Sandbox.connect("inosuchsandbox")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("one that is killed is gone for everybody, and cannot be killed again", async () => {
    const sandbox = await use.create();
    expect(await sandbox.isRunning()).toBe(true);
    expect(await use.sdk.Sandbox.kill(sandbox.sandboxId)).toBe(true);
    expect(await sandbox.isRunning()).toBe(false);
    expect(await use.sdk.Sandbox.kill(sandbox.sandboxId)).toBe(false);
    const { sandboxId } = sandbox;
    expect((await use.sdk.Sandbox.list().nextItems()).map((one) => one.sandboxId)).not.toContain(sandboxId);
  });

  test("a command in one that is gone is an error and no hang", async () => {
    const sandbox = await use.create();
    await sandbox.kill();
    await expect(sandbox.commands.run("echo hi")).rejects.toBeInstanceOf(use.sdk.SandboxError);
  });

  test("killing it while a command streams ends the stream with an error", async () => {
    const sandbox = await use.create();
    const command = await sandbox.commands.run("while true; do echo tick; sleep 0.05; done", { background: true, timeoutMs: 0 });
    await eventually(() => expect(command.stdout).toContain("tick"));
    const ended = command.wait().then(
      () => "a clean end",
      (error: unknown) => error,
    );
    await sandbox.kill();
    expect(await ended).toBeInstanceOf(Error);
  });

  test("what one sandbox wrote is not in the next", async () => {
    const first = await use.create();
    await first.files.write("/tmp/secret", "x");
    await first.kill();
    expect(await use.sandbox.files.exists("/tmp/secret")).toBe(false);
  });

  test("what is not there yet is said by name, and is no crash", async () => {
    await expect(use.sandbox.createSnapshot()).rejects.toThrow(/snapshots/);
  });
});

describeSdks("pausing", (use) => {
  test("a paused sandbox keeps its processes and files, and goes on where it was", async () => {
    const sandbox = await use.create();
    const { pid } = await sandbox.commands.run("sleep 1234", { background: true, timeoutMs: 0 });
    await sandbox.files.write("kept", "still");
    await sandbox.pause();
    expect((await use.sdk.Sandbox.getInfo(sandbox.sandboxId)).state).toBe("paused");
    const again = await use.sdk.Sandbox.connect(sandbox.sandboxId);
    expect((await again.getInfo()).state).toBe("running");
    expect((await again.commands.list()).map((one) => one.pid)).toContain(pid);
    expect((await again.commands.run(`kill -0 ${pid} && echo alive`)).stdout).toBe("alive\n");
    expect(await again.files.read("kept")).toBe("still");
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
});
