/** Code that is run: what stays, what it is given, what is told while it runs, how it fails and how it is ended. */
import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeInterpreters } from "./describe-sdks.ts";
import type { Execution } from "./interpreter-sdk.ts";

const stdoutOf = ({ logs }: Execution): string => logs.stdout.join("");
const stderrOf = ({ logs }: Execution): string => logs.stderr.join("");

describeInterpreters("runs", (use) => {
  test("the value of the last line is the text, and what is printed is not", async () => {
    const execution = await use.sandbox.runCode("print('said')\n20 + 1");
    expect([execution.text, stdoutOf(execution), execution.error]).toEqual(["21", "said\n", undefined]);
  });

  test("names, functions and imports stay from one run to the next, and runs are counted", async () => {
    const sandbox = await use.create();
    const first = await sandbox.runCode("import math\ndef double(n): return 2 * n\nx = 20");
    const second = await sandbox.runCode("double(x) + math.floor(2.5)");
    expect([second.text, first.executionCount, second.executionCount]).toEqual(["42", 1, 2]);
  });

  test("an error leaves the names as they are", async () => {
    await use.sandbox.runCode("kept = 5");
    await use.sandbox.runCode("kept = 6; 1 / 0");
    expect((await use.sandbox.runCode("kept")).text).toBe("6");
  });

  test("another program that connects finds the names", async () => {
    await use.sandbox.runCode("shared = 'by the first'");
    const other = await use.sdk.Sandbox.connect(use.sandbox.sandboxId);
    expect((await other.runCode("shared")).text).toBe("by the first");
  });

  test("what one sandbox knows, the next does not", async () => {
    await use.sandbox.runCode("secret = 1");
    const other = await use.create();
    expect((await other.runCode("secret")).error?.name).toBe("NameError");
  });

  test("code has the same files and user as commands", async () => {
    await use.sandbox.files.write("for-code.txt", "by files");
    const code = "import getpass\nopen('by-code.txt', 'w').write('by code')\n(open('for-code.txt').read(), getpass.getuser())";
    expect((await use.sandbox.runCode(code)).text).toBe("('by files', 'user')");
    expect((await use.sandbox.commands.run("cat by-code.txt; stat -c ' %U' by-code.txt")).stdout).toBe("by code user\n");
  });

  test.each([
    {
      language: "python",
      code: "import os; print(os.environ.get('ONE'), os.environ.get('TWO'), os.environ.get('E2B_SANDBOX'))",
      none: "None",
    },
    { language: "javascript", code: "console.log(process.env.ONE, process.env.TWO, process.env.E2B_SANDBOX)", none: "undefined" },
    { language: "bash", code: "echo ${ONE-none} ${TWO-none} $E2B_SANDBOX", none: "none" },
  ])("$language has the sandbox's variables, and those of a run for that run", async ({ language, code, none }) => {
    const sandbox = await use.create({ envs: { ONE: "sandbox" } });
    expect(stdoutOf(await sandbox.runCode(code, { language }))).toBe(`sandbox ${none} true\n`);
    expect(stdoutOf(await sandbox.runCode(code, { language, envs: { ONE: "run", TWO: "a 'b' $c" } }))).toBe("run a 'b' $c true\n");
    expect(stdoutOf(await sandbox.runCode(code, { language }))).toBe(`sandbox ${none} true\n`);
  });

  test("output, errors and results are told while the code still runs", async () => {
    const told: string[] = [];
    await use.sandbox.commands.run("rm -f go; mkfifo go");
    const running = use.sandbox.runCode(
      "import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(42)\nopen('go').read()\nprint('last')\n1 / 0",
      {
        onStdout: ({ line, error }) => told.push(`${error} ${line}`),
        onStderr: ({ line, error }) => told.push(`${error} ${line}`),
        onResult: ({ text }) => told.push(`result ${text}`),
        onError: ({ name }) => told.push(name),
      },
    );
    await eventually(() => expect(told.toSorted()).toEqual(["false out\n", "result 42", "true err\n"]));
    // It waits for this; so all of that was told before its end.
    await use.sandbox.commands.run("echo > go");
    const execution = await running;
    expect(told.slice(3)).toEqual(["false last\n", "ZeroDivisionError"]);
    expect([stdoutOf(execution), stderrOf(execution)]).toEqual(["out\nlast\n", "err\n"]);
  });

  test("programs that the code starts are heard too", async () => {
    const code = "import subprocess\nsubprocess.run('echo from a program; echo oops >&2', shell=True)\n!echo from a line";
    const execution = await use.sandbox.runCode(`${code}\nNone`);
    expect([stdoutOf(execution), stderrOf(execution)]).toEqual(["from a program\nfrom a line\n", "oops\n"]);
  });

  test("an error has a name, a value and the lines that led to it, and what came before it is kept", async () => {
    const { error, logs, results } = await use.sandbox.runCode("print('before')\ndisplay(1)\ndef f():\n    return 1 / 0\nf()");
    expect(error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(error?.traceback).toMatch(/line 5[\s\S]*line 4, in f[\s\S]*return 1 \/ 0/);
    expect([logs.stdout, results.length]).toEqual([["before\n"], 1]);
  });

  test.each([
    { language: "python", code: "x ==", name: "SyntaxError", value: /./ },
    { language: "python", code: "raise ValueError('a bad\\nthing')", name: "ValueError", value: /^a bad\nthing$/ },
    { language: "python", code: "exit(3)", name: "SystemExit", value: /^3$/ },
    { language: "python", code: "input()", name: "EOFError", value: /./ },
    { language: "javascript", code: "nothing.there", name: "ReferenceError", value: /^nothing is not defined$/ },
    { language: "javascript", code: "await Promise.reject(new TypeError('late'))", name: "TypeError", value: /^late$/ },
    { language: "javascript", code: "let let = 1", name: "SyntaxError", value: /./ },
    { language: "typescript", code: "const n: number = 1; throw new RangeError(`no ${n}`)", name: "RangeError", value: /^no 1$/ },
    { language: "bash", code: "ls /not/there", name: "CommandFailed", value: /./ },
  ])("$language: $code is the error $name", async ({ language, code, name, value }) => {
    const { error } = await use.sandbox.runCode(code, { language });
    expect(error).toMatchObject({ name, value: expect.stringMatching(value), traceback: expect.stringMatching(/./) });
  });

  test.each([
    { language: "python", first: "a = 1", code: "a + 1", text: "2" },
    { language: "python", first: "import asyncio", code: "await asyncio.sleep(0.01, 'awaited')", text: "awaited" },
    { language: "javascript", first: "const a = await Promise.resolve(1)", code: "a + 1", text: "2" },
    { language: "js", first: "const { join } = require('node:path')", code: "join('a', 'b')", text: "a/b" },
    { language: "typescript", first: "interface A { n: number }\nconst it: A = { n: 1 }", code: "it.n + 1", text: "2" },
    { language: "ts", first: "function f<T>(x: T): T[] { return [x] }", code: "f<number>(7)", text: "[ 7 ]" },
  ])("$language: after $first, $code is $text", async ({ language, first, code, text }) => {
    expect((await use.sandbox.runCode(first, { language })).error).toBeUndefined();
    expect((await use.sandbox.runCode(code, { language })).text).toBe(text);
  });

  test("bash keeps variables, functions and folder", async () => {
    const bash = { language: "bash" };
    await use.sandbox.runCode("cd /tmp; name='a b'; greet() { echo \"hello $1\"; }", bash);
    expect(stdoutOf(await use.sandbox.runCode('pwd; greet "$name"', bash))).toBe("/tmp\nhello a b\n");
  });

  test("a language that is not there is refused", async () => {
    await expect(use.sandbox.runCode("1", { language: "cobol" })).rejects.toThrow(/^400 /);
  });

  test.each([
    { language: "python", before: "kept = 5", endless: "while True: pass", after: "print(kept)" },
    { language: "python", before: "kept = 5", endless: "import time; time.sleep(600)", after: "print(kept)" },
    { language: "python", before: "kept = 5", endless: "import os; os.system('sleep 600')", after: "print(kept)" },
    { language: "javascript", before: "kept = 5", endless: "for (;;);", after: "console.log(kept)" },
    { language: "javascript", before: "kept = 5", endless: "await new Promise(() => {})", after: "console.log(kept)" },
    { language: "javascript", before: "kept = 5", endless: "await null; for (;;);", after: "console.log(kept)" },
    { language: "javascript", before: "kept = 5", endless: "require('child_process').execSync('sleep 600')", after: "console.log(kept)" },
    { language: "typescript", before: "var kept: number = 5", endless: "for (;;);", after: "console.log(kept)" },
    { language: "bash", before: "kept=5", endless: "while :; do sleep 600; done", after: "echo $kept" },
    { language: "bash", before: "kept=5", endless: "while :; do :; done", after: "echo $kept" },
  ])("$language: $endless is ended when its time is over, and names stay", async ({ language, before, endless, after }) => {
    const context = await use.sandbox.createCodeContext({ language });
    await use.sandbox.runCode(before, { context });
    await expect(use.sandbox.runCode(endless, { context, timeoutMs: 500 })).rejects.toBeInstanceOf(use.sdk.TimeoutError);
    expect(stdoutOf(await use.sandbox.runCode(after, { context }))).toBe("5\n");
    await use.sandbox.removeCodeContext(context);
  });

  test("a run that says nothing for a while is not given up", async () => {
    expect((await use.sandbox.runCode("import time; time.sleep(7); 'at last'")).text).toBe("at last");
  });

  test("five megabytes of output arrive whole, letters of all languages too", async () => {
    const ascii = await use.sandbox.runCode("for n in range(50): print('x' * 99999)");
    expect(stdoutOf(ascii).length).toBe(5_000_000);
    const letters = await use.sandbox.runCode("print('ж→ü𝄞' * 100000)");
    expect(stdoutOf(letters)).toBe(`${"ж→ü𝄞".repeat(100_000)}\n`);
  });

  test("a value of five megabytes arrives whole", async () => {
    expect((await use.sandbox.runCode("'ü' * 2_500_000")).text).toBe("ü".repeat(2_500_000));
  });

  test("runs in one context wait for each other", async () => {
    const context = await use.sandbox.createCodeContext();
    const code = "import time\nbefore = globals().get('count', 0)\ntime.sleep(0.02)\ncount = before + 1\ncount";
    const runs = await Promise.all(Array.from({ length: 8 }, () => use.sandbox.runCode(code, { context })));
    const counted = runs.map(({ text, executionCount }) => `${text} in run ${executionCount}`);
    expect(counted.toSorted()).toEqual(Array.from({ length: 8 }, (_, n) => `${n + 1} in run ${n + 1}`));
    await use.sandbox.removeCodeContext(context);
  });

  test("a process that dies is an error, and the next run has a new one", async () => {
    const context = await use.sandbox.createCodeContext();
    const { error } = await use.sandbox.runCode("import os; os._exit(9)", { context });
    expect(error).toMatchObject({ name: "ContextEnded", value: expect.stringContaining("exit status 9") });
    expect((await use.sandbox.runCode("1 + 1", { context })).text).toBe("2");
  });

  test("killing the sandbox while code runs is an error and no hang", async () => {
    const sandbox = await use.create();
    let isIn = false;
    const ended = sandbox
      .runCode("print('in')\nimport time; time.sleep(600)", { timeoutMs: 0, onStdout: () => void (isIn = true) })
      .catch((error: unknown) => error);
    await eventually(() => expect(isIn).toBe(true));
    await sandbox.kill();
    // By hosts it is a stream of HTTP/2 that is reset, for which the SDK has no error of its own.
    expect(await ended).toBeInstanceOf(use.mode === "headers" ? use.sdk.TimeoutError : Error);
  });

  test("private traffic does not keep its owner from running code", async () => {
    const sandbox = await use.create({ network: { allowPublicTraffic: false } });
    expect((await sandbox.runCode("1 + 1")).text).toBe("2");
    expect((await fetch(`https://${sandbox.getHost(49_999)}/contexts`)).status).toBe(403);
  });

  test("nobody runs code without the sandbox's token", async () => {
    const response = await fetch(`https://${use.sandbox.getHost(49_999)}/execute`, { method: "POST", body: '{"code":"1"}' });
    expect(response.status).toBe(401);
  });
});

describeInterpreters(
  "pausing",
  (use) => {
    test("names outlive a pause", async () => {
      const sandbox = await use.create();
      await sandbox.runCode("kept = [1, 2]");
      await sandbox.pause();
      const again = await use.sdk.Sandbox.connect(sandbox.sandboxId);
      expect((await again.runCode("kept")).text).toBe("[1, 2]");
    });
  },
  "pausing",
);
