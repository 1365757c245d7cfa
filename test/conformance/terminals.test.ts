import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";
import type { CommandHandle, Terminals } from "./sdk.ts";

describeSdks("terminals", (use) => {
  const open = async (more: Partial<Parameters<Terminals["create"]>[0]> = {}) => {
    let shown = "";
    const decoder = new TextDecoder();
    const onData = (data: Uint8Array): void => void (shown += decoder.decode(data, { stream: true }));
    const handle: CommandHandle = await use.sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 60_000, onData, ...more });
    const type = (text: string): Promise<void> => use.sandbox.pty.sendInput(handle.pid, new TextEncoder().encode(text));
    const shows = (text: string | RegExp): Promise<void> => eventually(() => expect(shown).toMatch(text));
    return { handle, type, shows };
  };

  test("what is typed is run, and shown as a terminal shows it", async () => {
    const { handle, type, shows } = await open();
    await type("echo $((40 + 2))\r");
    await shows(/\r42\r\n/);
    expect(await use.sandbox.pty.kill(handle.pid)).toBe(true);
  });

  test("it has the size that was asked for, and another when told", async () => {
    const { handle, type, shows } = await open({ cols: 101, rows: 33 });
    await type("stty size\r");
    await shows("33 101");
    await use.sandbox.pty.resize(handle.pid, { cols: 120, rows: 40 });
    await type("stty size\r");
    await shows("40 120");
    expect(await use.sandbox.pty.kill(handle.pid)).toBe(true);
  });

  test("leaving the shell ends it with the shell's code", async () => {
    const { handle, type } = await open();
    await type("exit 3\r");
    await expect(handle.wait()).rejects.toMatchObject({ exitCode: 3 });
  });

  test("Ctrl-C interrupts what runs in it, and not the shell", async () => {
    const { handle, type, shows } = await open();
    // It says so itself: between two commands of its own a shell drops an interrupt, in every terminal.
    await type("sh -c \"echo read''y; exec sleep 1234\"\r");
    await shows("ready");
    await type("\u0003");
    await type("echo still here: $?\r");
    await shows("still here: 130");
    expect(await use.sandbox.pty.kill(handle.pid)).toBe(true);
  });

  test("it has variables, a folder and a user of its own", async () => {
    const { handle, type, shows } = await open({ envs: { COLOUR: "blue" }, cwd: "/usr", user: "root" });
    await type("echo $COLOUR-$(pwd)-$(id -u)-$TERM\r");
    await shows("blue-/usr-0-xterm");
    expect(await use.sandbox.pty.kill(handle.pid)).toBe(true);
  });

  test("it goes on without its client, who may come back", async () => {
    const { handle, type, shows } = await open();
    await type("echo here''\r");
    await shows(/\rhere/);
    await handle.disconnect();
    let shown = "";
    const again = await use.sandbox.pty.connect(handle.pid, { onData: (data) => void (shown += Buffer.from(data).toString()) });
    await type("echo back''again\r");
    await eventually(() => expect(shown).toContain("backagain"));
    await again.kill();
  });
});
