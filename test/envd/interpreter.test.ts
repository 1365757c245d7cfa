import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startRealNode, type RealNode } from "../world/real-node.ts";
import { armDaemon, retireDaemon } from "./daemon.ts";
import { Interpreter } from "./interpreter-client.ts";

/** In a real sandbox of the image `host`, as the template code-interpreter-v1 makes them. */
let node: RealNode;
let interpreter: Interpreter;
const token = "secret";
let whileWaiting = 0;
let by: Parameters<typeof retireDaemon>[1];
beforeAll(async () => {
  node = await startRealNode();
  const readinessProbe = { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 };
  const env = [{ name: "AGENTBOX_INTERPRETER_PORT", value: "49999" }];
  const pod = await node.sandbox("interpreter", { containers: [{ name: "main", image: "host", env, readinessProbe }] });
  const address = `http://${pod.status?.podIP}`;
  interpreter = new Interpreter(`${address}:49999`, token);
  whileWaiting = (await interpreter.ask("/health")).status;
  by = { podUid: pod.metadata.uid ?? "", privateKey: node.privateKey };
  await armDaemon(`${address}:49983`, { accessToken: token, envVars: { GIVEN: "1" } }, by);
});
afterAll(() => node[Symbol.asyncDispose]());

test("it says that it is there, once the sandbox is somebody's", async () => {
  expect(whileWaiting).toBe(503);
  expect(await (await interpreter.ask("/health")).json()).toBe("OK");
  expect((await interpreter.ask("/elsewhere")).status).toBe(404);
});

test("nobody runs code without the sandbox's token", async () => {
  await expect(new Interpreter(interpreter.url, "guess").run("1")).rejects.toThrow("401");
});

describe("Python", () => {
  test("keeps its names from one execution to the next, and counts them", async () => {
    const { id } = await interpreter.context();
    const first = await interpreter.run("x = 20\nprint('made')", { context_id: id });
    expect(first).toMatchObject({ stdout: "made\n", stderr: "", results: [], error: undefined });
    const second = await interpreter.run("x + 1", { context_id: id });
    expect(second.events).toEqual([
      { type: "number_of_executions", execution_count: 2 },
      { type: "result", text: "21", is_main_result: true },
      { type: "end_of_execution" },
    ]);
  });

  test("runs as the sandbox's user, in its home, with its variables and those of the execution only", async () => {
    const facts = "import os, getpass; (getpass.getuser(), os.getcwd(), os.environ['GIVEN'], os.environ.get('ONCE'))";
    expect((await interpreter.run(facts, { env_vars: { ONCE: "2" } })).text).toBe("('user', '/home/user', '1', '2')");
    expect((await interpreter.run(facts)).text).toBe("('user', '/home/user', '1', None)");
    expect((await interpreter.run("[name for name in os.environ if name.startswith('AGENTBOX')]")).text).toBe("[]");
  });

  test("output comes while the code runs, also of programs that it starts", async () => {
    const code = "import os, sys\nprint('first')\nos.system('echo second')\nprint('bad', file=sys.stderr)\nopen('/tmp/go').read()";
    await interpreter.run("import os; os.mkfifo('/tmp/go')");
    let stdout = "";
    for await (const event of interpreter.events(code)) {
      if (event["type"] !== "stdout") continue;
      stdout += String(event["text"]);
      // It waits for this; so what we have read was written before its end.
      if (stdout.includes("second")) await node.run("interpreter", ["sh", "-c", "echo on > /tmp/go"]);
    }
    expect(stdout).toBe("first\nsecond\n");
  });

  test("errors have a name, a value and the lines of the code that led to them", async () => {
    const { error } = await interpreter.run("def f():\n    return 1 / 0\nf()");
    expect(error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(error?.["traceback"]).toMatch(/line 3, in <module>[\s\S]*line 2, in f\n    return 1 \/ 0/);
    expect(error?.["traceback"]).not.toContain("python_runner");
    expect((await interpreter.run("x ==")).error).toMatchObject({ name: "SyntaxError" });
    expect((await interpreter.run("exit()")).error).toMatchObject({ name: "SystemExit" });
  });

  test("values show themselves as they can", async () => {
    const code = `from IPython.display import HTML, Markdown, display
display(HTML("<b>1</b>"), Markdown("# 2"))
class Shown:
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1]}
    def __repr__(self): return "shown"
Shown()`;
    const { results } = await interpreter.run(code);
    expect(results).toMatchObject([
      { html: "<b>1</b>", is_main_result: false },
      { markdown: "# 2", is_main_result: false },
      { text: "shown", png: "iVBORw==", json: { a: [1] }, is_main_result: true },
    ]);
  });

  test("large results and texts of all languages come whole", async () => {
    const { text, stdout } = await interpreter.run("print('ü€𝄞' * 10000)\n'y' * 300000");
    expect(stdout).toBe(`${"ü€𝄞".repeat(10_000)}\n`);
    expect(text).toBe("y".repeat(300_000));
  });

  test("awaits, and does what notebooks do with lines that begin with !", async () => {
    expect((await interpreter.run("import asyncio\nawait asyncio.sleep(0, 'waited')")).text).toBe("waited");
    expect((await interpreter.run("for n in [1]:\n    !echo from the shell")).stdout).toBe("from the shell\n");
  });

  test("indented code runs, and texts in it keep what is left of them", async () => {
    const { id } = await interpreter.context();
    const run = (code: string) => interpreter.run(code, { context_id: id });
    expect((await run('\n    x = 5\n    if x:\n        y = """a\n  b"""\n    (x, y)')).text).toBe("(5, 'a\\n  b')");
    expect((await run("  x = 1\n y = 2")).error).toMatchObject({ name: "IndentationError" });
  });

  test("magic lines and cells do what they do in notebooks, and an unknown one is an error", async () => {
    const { id } = await interpreter.context();
    const run = (code: string) => interpreter.run(code, { context_id: id });
    expect(await run("%time 6 * 7")).toMatchObject({ text: "42", stdout: expect.stringMatching(/CPU times: .*\nWall time: .*\n/) });
    expect((await run("a = %time 'assigned'\na")).text).toBe("assigned");
    expect((await run("%timeit -n 3 -r 2 a.upper()")).stdout).toMatch(/ per loop \(mean ± std\. dev\. of 2 runs, 3 loops each\)\n$/);
    expect((await run("%env NAME=value")).stdout).toBe("env: NAME=value\n");
    expect((await run("%env NAME")).text).toBe("value");
    expect((await run("b = 5\n%who")).stdout).toBe("a\t b\t \n");
    expect((await run("%who int")).stdout).toBe("b\t \n");
    expect((await run("%%time\nc = 7\nc")).text).toBe("7");
    expect((await run("%%writefile kept.txt\n%who is no magic here")).stdout).toBe("Writing kept.txt\n");
    expect((await run("lines = !cat kept.txt\nlines")).text).toBe("['%who is no magic here']");
    expect((await run('text = """\n%who\n"""\n!echo {b} $a $HOME\ntext')).text).toBe("\\n%who\\n");
    const unknown = await run("%nothing here");
    expect(unknown.error).toMatchObject({ name: "UsageError", value: "Line magic function `%nothing` not found." });
    expect(unknown.error?.["traceback"]).not.toMatch(/python_|__agentbox/);
  });

  test("what is no number in JSON is nothing there, and floats stay floats", async () => {
    const response = await interpreter.ask("/execute", "POST", {
      code: "from IPython.display import JSON\nJSON({'f': 1.0, 'n': [float('nan'), 2, 10 ** 20]})",
    });
    expect(await response.text()).toContain('"json":{"f":1.0,"n":[null,2,100000000000000000000]}');
  });

  test("code that reads finds nothing to read, and what it closes is open for the next", async () => {
    expect((await interpreter.run("input()")).error).toMatchObject({ name: "EOFError" });
    await interpreter.run("import sys; sys.stdout.close(); sys.stdin.close()");
    expect(await interpreter.run("print('there'); input()")).toMatchObject({ stdout: "there\n", error: { name: "EOFError" } });
  });
});

describe("bash", () => {
  const bash = { language: "bash" };

  test("keeps variables and folder, and tells a failure", async () => {
    await interpreter.run("cd /tmp; name='a b'", bash);
    const { stdout, error } = await interpreter.run('pwd; echo "$name" "$ONCE"; echo oops >&2; cat; (exit 3)', {
      ...bash,
      env_vars: { ONCE: "it's" },
    });
    expect(stdout).toBe("/tmp\na b it's\n");
    expect(error).toMatchObject({ name: "CommandFailed", value: "exit status 3" });
    expect((await interpreter.run("echo [$ONCE]", bash)).stdout).toBe("[]\n");
  });

  test("goes on in a new process after the code has ended it", async () => {
    expect((await interpreter.run("exit 4", bash)).error).toMatchObject({
      name: "ContextEnded",
      value: expect.stringContaining("exit status 4"),
    });
    expect((await interpreter.run("echo [$name]", bash)).stdout).toBe("[]\n");
  });
});

describe("JavaScript", () => {
  test("keeps its names, lets them be declared again, awaits and imports", async () => {
    const language = "javascript";
    await interpreter.run("const a = await Promise.resolve(6)", { language });
    expect(await interpreter.run("const b = 7; console.log('out'); a * b", { language })).toMatchObject({ text: "42", stdout: "out\n" });
    expect((await interpreter.run("const a = 1; a", { language: "js" })).text).toBe("1");
    expect((await interpreter.run("import { basename } from 'node:path'\nbasename('/x/y')", { language })).text).toBe("y");
    expect((await interpreter.run("nothing.there", { language })).error).toMatchObject({ name: "ReferenceError" });
    expect((await interpreter.run("process.exit(1)", { language })).error).toMatchObject({ name: "ProcessExit" });
  });

  test("TypeScript is JavaScript with types", async () => {
    expect((await interpreter.run("interface A { n: number }\nconst it: A = { n: 5 }\nit", { language: "ts" })).text).toBe("{ n: 5 }");
  });
});

describe("contexts", () => {
  test("are listed, know nothing of each other, and are restarted and removed", async () => {
    const one = await interpreter.context({ cwd: "/tmp" });
    const two = await interpreter.context({ language: "js" });
    const listed = (await (await interpreter.ask("/contexts")).json()) as unknown[];
    expect(listed).toEqual(expect.arrayContaining([one, two, expect.objectContaining({ language: "python", cwd: "/home/user" })]));
    expect((await interpreter.run("import os; y = 1; os.getcwd()", { context_id: one.id })).text).toBe("/tmp");
    expect((await interpreter.run("y")).error).toMatchObject({ name: "NameError" });
    expect((await interpreter.ask(`/contexts/${one.id}/restart`, "POST")).status).toBe(204);
    expect((await interpreter.run("y", { context_id: one.id })).error).toMatchObject({ name: "NameError" });
    expect((await interpreter.ask(`/contexts/${one.id}`, "DELETE")).status).toBe(204);
    await expect(interpreter.run("1", { context_id: one.id })).rejects.toThrow(`404: Context ${one.id} not found`);
    expect((await interpreter.ask(`/contexts/${one.id}`, "DELETE")).status).toBe(404);
  });

  test("requests that make no sense are refused", async () => {
    await expect(interpreter.run("1", { language: "cobol" })).rejects.toThrow("400");
    await expect(interpreter.context({ cwd: "/nowhere" })).rejects.toThrow("400: cwd '/nowhere' is not a folder of this sandbox");
    expect((await interpreter.ask("/execute", "POST", [])).status).toBe(400);
  });

  test("a restart ends what runs, and says so", async () => {
    const { id } = await interpreter.context();
    const events: unknown[] = [];
    for await (const event of interpreter.events("print('in', flush=True)\nwhile True: pass", { context_id: id })) {
      events.push(event);
      if (event["type"] === "stdout") await interpreter.ask(`/contexts/${id}/restart`, "POST");
    }
    expect(events.at(-2)).toMatchObject({ type: "error", name: "ContextEnded" });
  });
});

describe("a client that goes away interrupts", () => {
  const python = { language: "python", before: "kept = 5", after: "print(kept)" };
  const javascript = { language: "javascript", before: "kept = 5", after: "console.log(kept)" };
  const bash = { language: "bash", before: "kept=5", after: "echo $kept" };
  test.each([
    { ...python, what: "sleeping Python", endless: "import time\nprint('in')\ntime.sleep(600)" },
    { ...python, what: "busy Python", endless: "print('in')\nwhile True: pass" },
    { ...javascript, what: "busy JavaScript", endless: "console.log('in'); for (;;);" },
    { ...javascript, what: "waiting JavaScript", endless: "setTimeout(() => console.log('in'), 50); await new Promise(() => {})" },
    { ...javascript, what: "JavaScript that is busy after it has waited", endless: "await null; console.log('in'); for (;;);" },
    {
      ...javascript,
      what: "JavaScript that is busy in a timer",
      endless: "setTimeout(() => { console.log('in'); for (;;); }); await new Promise(() => {})",
    },
    { ...bash, what: "bash", endless: "echo in; while :; do sleep 600; done; echo never" },
  ])("$what", async ({ language, before, endless, after }) => {
    const { id } = await interpreter.context({ language });
    await interpreter.run(before, { context_id: id });
    const leaving = new AbortController();
    await expect(async () => {
      for await (const event of interpreter.events(endless, { context_id: id }, leaving.signal))
        if (event["type"] === "stdout") leaving.abort();
    }).rejects.toThrow("abort");
    expect((await interpreter.run(after, { context_id: id })).stdout).toBe("5\n");
    await interpreter.ask(`/contexts/${id}`, "DELETE");
  });
});

test("an interrupt of JavaScript in any moment of a run leaves the names", async () => {
  const { id } = await interpreter.context({ language: "javascript" });
  await interpreter.run("const kept = 5", { context_id: id });
  for (let n = 0; n < 30; n++) {
    const leaving = new AbortController();
    const events = interpreter.events(`for (let at = performance.now() + 3; performance.now() < at;);`, { context_id: id }, leaving.signal);
    // Before, in and after the three milliseconds that it takes.
    setTimeout(() => leaving.abort(), n % 10);
    await Array.fromAsync(events).catch(() => undefined);
    expect((await interpreter.run("kept", { context_id: id })).text).toBe("5");
  }
});

test("executions in one context come one after the other, and a silent one is told to be alive", async () => {
  const slow = interpreter.run("import time; time.sleep(5.5); 'slow'");
  const quick = interpreter.run("'quick'");
  expect((await quick).text).toBe("quick");
  expect(await slow).toMatchObject({ text: "slow", events: expect.arrayContaining([{ type: "keepalive" }]) });
});

test("code that runs when its sandbox is ended breaks off: nothing that it still says is a result", async () => {
  await interpreter.context({ language: "bash" });
  const codes = ["import time; print('in', flush=True); time.sleep(600)", "print('in', flush=True)\n!sleep 600"];
  const inEach = codes.map(async (code) => {
    const { id } = await interpreter.context();
    const seen: unknown[] = [];
    const ended = (async () => {
      for await (const event of interpreter.events(code, { context_id: id })) {
        seen.push(event["type"]);
        if (event["type"] === "stdout") running.push(id);
      }
    })();
    await expect(ended).rejects.toThrow("terminated");
    expect(seen).toEqual(["number_of_executions", "stdout"]);
  });
  const running: string[] = [];
  await expect.poll(() => running.length, { timeout: 10_000 }).toBe(codes.length);
  await retireDaemon(interpreter.url.replace("49999", "49983"), by);
  await Promise.all(inEach);
});
