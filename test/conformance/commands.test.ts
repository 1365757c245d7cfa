import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";
import type { JsVersion } from "./install.ts";

describeSdks("commands", (use) => {
  const run: (typeof use.sandbox)["commands"]["run"] = (...args: Parameters<(typeof use.sandbox)["commands"]["run"]>) =>
    use.sandbox.commands.run(...args) as never;

  test("a command's output and exit code come back", async () => {
    expect(await run("echo hi")).toMatchObject({ stdout: "hi\n", stderr: "", exitCode: 0 });
  });

  test("errors go another way than output", async () => {
    expect(await run("echo out; echo err >&2")).toMatchObject({ stdout: "out\n", stderr: "err\n" });
  });

  test("a command that fails is an error with its code and output", async () => {
    const failure = run("echo before; exit 7");
    await expect(failure).rejects.toBeInstanceOf(use.sdk.CommandExitError);
    await expect(failure).rejects.toMatchObject({ exitCode: 7, stdout: "before\n" });
  });

  test("output is told while the command still runs", async () => {
    const pieces: string[] = [];
    const command = await run("echo first; read line; echo $line", {
      background: true,
      stdin: true,
      onStdout: (text) => pieces.push(text),
    });
    await eventually(() => expect(pieces.join("")).toBe("first\n"));
    await use.sandbox.commands.sendStdin(command.pid, "second\n");
    expect((await command.wait()).stdout).toBe("first\nsecond\n");
    expect(pieces.join("")).toBe("first\nsecond\n");
  });

  test("errors are told while the command still runs", async () => {
    const pieces: string[] = [];
    const command = await run("echo oops >&2; sleep 100", { background: true, onStderr: (text) => pieces.push(text) });
    await eventually(() => expect(pieces).toEqual(["oops\n"]));
    await command.kill();
  });

  test("a command has its own variables", async () => {
    expect((await run("echo $COLOUR", { envs: { COLOUR: "blue and 'green'" } })).stdout).toBe("blue and 'green'\n");
  });

  test("a command knows in which sandbox it is", async () => {
    expect((await run("echo $E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID")).stdout).toBe(`true ${use.sandbox.sandboxId} base\n`);
  });

  test("a command runs where it is told to", async () => {
    expect((await run("pwd", { cwd: "/usr/lib" })).stdout).toBe("/usr/lib\n");
  });

  test("without a folder a command runs in the home of its user", async () => {
    expect((await run("pwd; echo $HOME; whoami")).stdout).toBe("/home/user\n/home/user\nuser\n");
  });

  test("a folder that is not there is an invalid argument", async () => {
    await expect(run("pwd", { cwd: "/not/there" })).rejects.toBeInstanceOf(use.sdk.InvalidArgumentError);
  });

  test("a command runs as root when asked to", async () => {
    expect((await run("id -u; echo $HOME", { user: "root" })).stdout).toBe("0\n/root\n");
  });

  test("a user that is not there is refused", async () => {
    await expect(run("id", { user: "nobody-here" })).rejects.toBeInstanceOf(use.sdk.AuthenticationError);
  });

  test("what is written to a command's input is read by it, until it is closed", async () => {
    const command = await run("cat; echo end", { background: true, stdin: true });
    await use.sandbox.commands.sendStdin(command.pid, "one\n");
    await use.sandbox.commands.sendStdin(command.pid, "two ✓\n");
    await use.sandbox.commands.closeStdin(command.pid);
    expect(await command.wait()).toMatchObject({ stdout: "one\ntwo ✓\nend\n", exitCode: 0 });
  });

  test("a command without input sees its end at once", async () => {
    expect((await run("cat; echo end", { stdin: false, timeoutMs: 10_000 })).stdout).toBe("end\n");
  });

  test("commands that run are listed", async () => {
    const command = await run("sleep 1234", { background: true });
    const listed = (await use.sandbox.commands.list()).find(({ pid }) => pid === command.pid);
    expect(listed).toMatchObject({ cmd: "/bin/bash", args: ["-l", "-c", "sleep 1234"] });
    await command.kill();
    await expect(command.wait()).rejects.toBeInstanceOf(use.sdk.CommandExitError);
    expect((await use.sandbox.commands.list()).map(({ pid }) => pid)).not.toContain(command.pid);
  });

  test("a pid is one inside of the sandbox", async () => {
    const command = await run("sleep 1234", { background: true });
    expect((await run(`kill -0 ${command.pid} && echo there`)).stdout).toBe("there\n");
    await command.kill();
  });

  test("killing is true once, and false when there is nothing to kill", async () => {
    const { pid } = await run("sleep 1234", { background: true });
    expect(await use.sandbox.commands.kill(pid)).toBe(true);
    await eventually(async () => expect(await use.sandbox.commands.kill(pid)).toBe(false));
  });

  test("a command that takes longer than its time is ended", async () => {
    await expect(run("echo $$ > /tmp/slow.pid; exec sleep 1234", { timeoutMs: 1000 })).rejects.toBeInstanceOf(use.sdk.TimeoutError);
    await eventually(async () => expect((await run("kill -0 $(cat /tmp/slow.pid) 2>/dev/null || echo gone")).stdout).toBe("gone\n"));
  });

  test("a command goes on when its client lets go, and can be followed again", async () => {
    const begun = await run("read line; echo got $line", { background: true, stdin: true, timeoutMs: 0 });
    await begun.disconnect();
    const again = await use.sandbox.commands.connect(begun.pid);
    await use.sandbox.commands.sendStdin(begun.pid, "it\n");
    expect(await again.wait()).toMatchObject({ stdout: "got it\n", exitCode: 0 });
  });

  test("how a command ended is told to whoever asks soon after", async () => {
    const { pid } = await run("exit 5", { background: true });
    await eventually(async () => expect((await use.sandbox.commands.list()).map((one) => one.pid)).not.toContain(pid));
    const late = await use.sandbox.commands.connect(pid);
    await expect(late.wait()).rejects.toMatchObject({ exitCode: 5 });
  });

  test("following a command that never was is an error", async () => {
    await expect(use.sandbox.commands.connect(4_000_000)).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("a command ended by a signal says so", async () => {
    const command = await run("sleep 1234", { background: true });
    await run(`kill -KILL ${command.pid}`);
    await expect(command.wait()).rejects.toMatchObject({ exitCode: -1, error: "signal: killed" });
  });

  test("four megabytes of output arrive whole", async () => {
    const { stdout } = await run("head -c 3145728 /dev/urandom | base64 -w 0");
    expect(stdout).toHaveLength(4_194_304);
  });

  test("a megabyte of input arrives whole", async () => {
    const command = await run("wc -c", { background: true, stdin: true });
    const piece = "0123456789abcdef".repeat(4096);
    for (let n = 0; n < 16; n++) await use.sandbox.commands.sendStdin(command.pid, piece);
    await use.sandbox.commands.closeStdin(command.pid);
    expect((await command.wait()).stdout.trim()).toBe("1048576");
  });

  test("killing a command ends its stream in the middle", async () => {
    const command = await run("while true; do echo tick; sleep 0.05; done", { background: true });
    await eventually(() => expect(command.stdout).toContain("tick"));
    expect(await command.kill()).toBe(true);
    await expect(command.wait()).rejects.toBeInstanceOf(use.sdk.CommandExitError);
  });

  test("a command without a limit of time is not ended", async () => {
    const command = await run("sleep 2; echo slept", { background: true, timeoutMs: 0 });
    expect((await command.wait()).stdout).toBe("slept\n");
  });

  test("input for a command that never was is an error", async () => {
    await expect(use.sandbox.commands.sendStdin(4_000_000, "x")).rejects.toBeInstanceOf(use.sdk.NotFoundError);
  });

  test("a user who is no root becomes it by sudo", async ({ skip }) => {
    skip((await run("command -v sudo || echo none")).stdout === "none\n", "the sandbox's image has no sudo");
    expect((await run("sudo id -u")).stdout).toBe("0\n");
  });

  test("a script of many lines with quotes is run as it is", async () => {
    const script = ["set -e", "x='a b'", "for i in 1 2; do", '  echo "$i: $x"', "done | tac"].join("\n");
    expect((await run(script)).stdout).toBe("2: a b\n1: a b\n");
  });

  test("a command that leaves a child behind is over when it is", async () => {
    expect((await run("(sleep 1234 >/dev/null 2>&1 &) ; echo done", { timeoutMs: 20_000 })).stdout).toBe("done\n");
    await run("pkill -f 'sleep 1234'");
  });

  test("twenty commands at once do not mix", async () => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => run(`sleep 0.1; echo ${n}`)));
    expect(results.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 20 }, (_, n) => `${n}\n`));
  });
});

/** Older ones decode each piece of output by itself, and spoil a letter that lies in two. */
const decodesStreams = (version: JsVersion): boolean => version === "2.51.0" || version === "2.45.0";

describeSdks(
  "text",
  (use) => {
    test("letters are whole however the output is cut", async () => {
      const { stdout } = await use.sandbox.commands.run("for i in $(seq 1 20000); do printf 'ж→'; done");
      expect(stdout).toBe("ж→".repeat(20_000));
    });
  },
  { by: decodesStreams },
);
