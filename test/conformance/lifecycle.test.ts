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

  test("killing it while a terminal is open and a folder is watched ends both, and hangs nobody", async () => {
    const sandbox = await use.create();
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} });
    const watchEnded = Promise.withResolvers<unknown>();
    await sandbox.files.watchDir("/tmp", () => {}, { onExit: (error) => watchEnded.resolve(error) });
    const ended = terminal.wait().then(
      () => "a clean end",
      (error: unknown) => error,
    );
    await sandbox.kill();
    expect(await ended).toBeInstanceOf(Error);
    expect(await watchEnded.promise).toBeInstanceOf(Error);
  });

  test("five that are asked for at once are five", async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => use.create()));
    expect(new Set(made.map(({ sandboxId }) => sandboxId)).size).toBe(5);
    const hellos = await Promise.all(made.map((one) => one.commands.run("echo $E2B_SANDBOX_ID")));
    expect(hellos.map(({ stdout }) => stdout.trim())).toEqual(made.map(({ sandboxId }) => sandboxId));
  });

  test("it is told what it is made of, and when", async () => {
    const info = await use.sandbox.getInfo();
    expect(info.cpuCount).toBeGreaterThan(0);
    expect(info.memoryMB).toBeGreaterThan(0);
    expect(info.envdVersion).toMatch(/^\d+\.\d+\.\d+$/);
    expect(info.startedAt.getTime()).toBeLessThanOrEqual(Date.now() + 1000);
    expect(info.endAt.getTime()).toBeGreaterThan(info.startedAt.getTime());
  });

  test("more time than there is for anybody is refused, with the limit", async () => {
    await expect(use.sdk.Sandbox.create({ timeoutMs: 400 * 24 * 3600 * 1000 })).rejects.toThrow(/30 days|2592000|\d+ (seconds|hours)/);
  });

  test("what one sandbox wrote is not in the next", async () => {
    const first = await use.create();
    await first.files.write("/tmp/secret", "x");
    await first.kill();
    expect(await use.sandbox.files.exists("/tmp/secret")).toBe(false);
  });
});

describeSdks(
  "lists of newer SDKs",
  (use) => {
    test("sandboxes are found by their template and by when they were made", async () => {
      const metadata = { mark: `${use.version}-${use.mode}-found` };
      const { sandboxId } = await use.create({ metadata });
      const found = async (more: object): Promise<readonly string[]> =>
        (await use.sdk.Sandbox.list({ query: { metadata, ...more } }).nextItems()).map((one) => one.sandboxId);
      expect(await found({ template: "base" })).toEqual([sandboxId]);
      expect(await found({ template: "no-such-template" })).toEqual([]);
      expect(await found({ startedAfter: new Date(Date.now() - 3_600_000) })).toEqual([sandboxId]);
      expect(await found({ startedAfter: new Date(Date.now() + 3_600_000) })).toEqual([]);
    });

    test("a list may begin with the oldest", async () => {
      const metadata = { mark: `${use.version}-${use.mode}-oldest` };
      const made: string[] = [];
      for (let n = 0; n < 3; n++) made.push((await use.create({ metadata })).sandboxId);
      const pages = use.sdk.Sandbox.list({ query: { metadata }, order: "asc", limit: 2 });
      const found = [...(await pages.nextItems()), ...(await pages.nextItems())];
      expect(found.map(({ sandboxId }) => sandboxId)).toEqual(made);
    });
  },
  { by: (version) => version === "2.51.0" },
);
