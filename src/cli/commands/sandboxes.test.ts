import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { agentbox, type CliSurroundings, type Said } from "../../../test/world/run-cli.ts";
import { type AskedRequest, problem, type ScriptedAnswer, type ScriptedApi, scriptedApi } from "../../../test/world/scripted-api.ts";

const sandbox = {
  sandboxId: "sb1",
  namespace: "default",
  poolName: "base",
  podName: "base-1",
  team: "red",
  user: "",
  status: "Running",
  claimedAt: "2026-01-01T00:00:00.000Z",
  containerImages: { sandbox: "host" },
  metadata: {},
};

function run(api: ScriptedApi, argv: readonly string[], more: CliSurroundings = {}): Promise<Said> {
  return agentbox(argv, { env: { AGENTBOX_API_URL: api.url, AGENTBOX_API_KEY: "e2b_x" }, ...more });
}

/** Answers a create and a delete. */
function life({ method }: AskedRequest): ScriptedAnswer {
  return method === "DELETE" ? { status: 202 } : { status: 201, body: { sandbox } };
}

/** A command that ends when its input does, and what it was sent. */
function streamed(...answers: readonly (Buffer | object)[]) {
  const sent: unknown[] = [];
  const onSocket = (socket: WebSocket): void => {
    socket.on("message", (data: Buffer, isBinary) => {
      const message = isBinary ? data.toString() : (JSON.parse(data.toString()) as { readonly type?: string });
      sent.push(message);
      if (typeof message === "string") socket.send(JSON.stringify({ type: "taken", bytes: message.length }));
      else if (message.type === "eof") for (const answer of answers) socket.send(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
    });
  };
  return { sent, onSocket };
}

const calls = (api: ScriptedApi): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

describe("agentbox run", () => {
  test("prints the ID and nothing else, and asks for what the flags say", async () => {
    await using api = await scriptedApi(life);
    const flags = [
      "--image",
      "py",
      "--timeout",
      "1h",
      "--idle-timeout",
      "0",
      "--on-timeout",
      "pause",
      "-l",
      "a=b=c",
      "-m",
      "x=",
      "-e",
      "K=v",
    ];
    expect(await run(api, ["run", "team/py", ...flags])).toEqual({ stdout: "sb1\n", stderr: "", code: 0 });
    const body = {
      poolName: "team/py",
      image: "py",
      lifetime: "1h",
      idleTimeout: "0",
      onTimeout: "pause",
      labels: { a: "b=c" },
      metadata: { x: "" },
      envVars: { K: "v" },
    };
    expect(api.asked).toEqual([{ method: "POST", path: "/v1/sandboxes?wait=true", body }]);
  });

  test("asks for pools of an Env by their size or group", async () => {
    await using api = await scriptedApi(life);
    await run(api, ["run", "base", "--instance-type", "cpu", "--multiplier", "4", "--scaling-group", "large"]);
    const body = { poolName: "base", instanceType: "cpu", multiplier: 4, scalingGroup: "large" };
    expect(api.asked).toEqual([{ method: "POST", path: "/v1/sandboxes?wait=true", body }]);
    expect((await run(api, ["run", "base", "--multiplier", "many"])).stderr).toContain("--multiplier");
  });

  test("takes the pool of a first start where none is named, and need not wait", async () => {
    await using api = await scriptedApi(life);
    expect(JSON.parse((await run(api, ["run", "--no-wait", "-o", "json"])).stdout)).toEqual({ sandbox });
    expect(api.asked).toEqual([{ method: "POST", path: "/v1/sandboxes?wait=false", body: { poolName: "base" } }]);
  });

  test("runs a command in it, passes its end on, and ends the sandbox", async () => {
    const { sent, onSocket } = streamed(Buffer.from("\u0001out"), Buffer.from("\u0002err"), { type: "exit", exitCode: 3 });
    await using api = await scriptedApi(life, onSocket);
    const said = await run(api, ["run", "-e", "K=v", "--", "sh", "-c", "exit 3", "--keep"]);
    expect(said).toEqual({ stdout: "out", stderr: "err", code: 3 });
    expect(sent).toEqual([{ command: ["sh", "-c", "exit 3", "--keep"], env: { K: "v" } }, { type: "eof" }]);
    expect(calls(api)).toEqual(["POST /v1/sandboxes?wait=true", "GET /v1/sandboxes/sb1/exec/stream", "DELETE /v1/sandboxes/sb1"]);
  });

  test("ends the sandbox also when the command cannot be run, and keeps it where that is wished", async () => {
    await using api = await scriptedApi(life);
    expect(await run(api, ["run", "--", "ls"])).toEqual({ stdout: "", stderr: "error: no such container\n", code: 1 });
    expect(calls(api).at(-1)).toBe("DELETE /v1/sandboxes/sb1");
    const kept = await run(api, ["run", "--keep", "--", "ls"]);
    expect(kept.stderr).toBe("Sandbox sb1 is kept. End it with: agentbox rm sb1\nerror: no such container\n");
    expect(calls(api).at(-1)).toBe("GET /v1/sandboxes/sb1/exec/stream");
  });

  test("ends the sandbox also when the user presses Ctrl-C", async () => {
    const stop = new AbortController();
    await using api = await scriptedApi(life, (socket) => socket.once("message", () => stop.abort(new Error("Ctrl-C"))));
    expect((await run(api, ["run", "--", "sleep", "9"], { signal: stop.signal })).code).toBe(130);
    expect(calls(api).at(-1)).toBe("DELETE /v1/sandboxes/sb1");
  });

  test("says what it waits for after two seconds, and why there was no pod", async () => {
    const clock = new SteppedClock();
    const standing = { idle: 0, starting: 1, running: 3, stopping: 0, waiting: 2 };
    await using api = await scriptedApi(async () => {
      await clock.step(2000);
      return problem(429, "no_capacity", "no pod became free", { pool: standing, retryAfterSeconds: 1 });
    });
    expect(await run(api, ["run"], { clock })).toEqual({
      stdout: "",
      stderr:
        "Waiting for a sandbox of base …\n" +
        "error: no pod became free; the pool has 0 idle pods, 1 starting, 3 running, 0 stopping, and 2 requests wait; try again in 1 s; " +
        "or make the pool larger with: agentbox scale POOL NUMBER\n",
      code: 1,
    });
  });
});

describe("agentbox ls", () => {
  const row = (id: string): object => ({ ...sandbox, sandboxId: id });

  test("shows the live ones in a table", async () => {
    const clock = new SteppedClock(Date.UTC(2026, 0, 1, 0, 5));
    await using api = await scriptedApi(() => ({ body: { sandboxes: [sandbox] } }));
    expect((await run(api, ["ls"], { clock })).stdout).toBe(
      "ID    POOL   STATUS    REASON   AGE   ENDED\nsb1   base   Running   -        5m    -\n",
    );
    expect(calls(api)).toEqual(["GET /v1/sandboxes?status=Starting%2CRunning%2CPaused%2CStopping&limit=100"]);
    expect((await run(api, ["ls", "-o", "wide", "--no-headers"], { clock })).stdout).toMatch(/^sb1 .* red +default\/base-1 +- +host\n$/);
  });

  test("goes on from page to page, to the end or to the limit", async () => {
    await using api = await scriptedApi(({ path }) =>
      path.includes("cursor=c1") ? { body: { sandboxes: [row("b")] } } : { body: { sandboxes: [row("a")], next: "c1" } },
    );
    expect(await run(api, ["ls", "-a", "-o", "name", "--limit", "0"])).toEqual({ stdout: "a\nb\n", stderr: "", code: 0 });
    expect(await run(api, ["ls", "-a", "-o", "name", "--limit", "1"])).toEqual({
      stdout: "a\n",
      stderr: "There are more than 1: --limit 0 shows all\n",
      code: 0,
    });
    expect(calls(api)).toEqual(["GET /v1/sandboxes?limit=1000", "GET /v1/sandboxes?limit=1000&cursor=c1", "GET /v1/sandboxes?limit=1"]);
  });

  test("asks for what the flags say, and says when there is nothing", async () => {
    await using api = await scriptedApi(() => ({ body: { sandboxes: [] } }));
    const flags = "--pool p --template t --status Failed --status Running -m a=b -m c=d --prefix x".split(" ");
    expect((await run(api, ["ls", ...flags])).stderr).toBe("No live sandboxes (ended ones: agentbox ls --all)\n");
    expect(calls(api)[0]).toBe(
      "GET /v1/sandboxes?status=Failed%2CRunning&metadata=a%3Db&metadata=c%3Dd&poolName=p&templateName=t&idPrefix=x&limit=100",
    );
    expect((await run(api, ["ls", "-a", "-o", "json"])).stdout).toBe("[]\n");
  });
});

describe("agentbox exec", () => {
  const exit = { type: "exit", exitCode: 0 };

  test("gives the command its input, to the end of it", async () => {
    const { sent, onSocket } = streamed(Buffer.from("\u0001x"), exit);
    await using api = await scriptedApi(life, onSocket);
    const flags = ["-u", "me", "-w", "/tmp", "-c", "side", "--command-timeout", "9s"];
    expect(await run(api, ["exec", "sb1", ...flags, "--", "cat", "-u"], { stdin: "in" })).toEqual({ stdout: "x", stderr: "", code: 0 });
    const wish = { command: ["cat", "-u"], timeout: "9s", user: "me", workingDir: "/tmp", container: "side" };
    expect(sent).toEqual([wish, "in", { type: "eof" }]);
  });

  test("gives it none with -n, and what is at a terminal only with -i", async () => {
    const { sent, onSocket } = streamed(exit);
    await using api = await scriptedApi(life, onSocket);
    await run(api, ["exec", "sb1", "-n", "--", "cat"], { stdin: "in" });
    await run(api, ["exec", "sb1", "--", "cat"], { stdin: "in", isStdinTerminal: true });
    await run(api, ["exec", "sb1", "-i", "--", "cat"], { stdin: "in", isStdinTerminal: true });
    expect(sent.filter((message) => message === "in")).toHaveLength(1);
  });

  test("says why a program could not be started, and ends as a shell would", async () => {
    const { onSocket } = streamed({ type: "exit", exitCode: 127, startError: 'there is no program "x" in PATH' });
    await using api = await scriptedApi(life, onSocket);
    const stderr = 'agentbox: there is no program "x" in PATH\n';
    expect(await run(api, ["exec", "sb1", "--", "x"])).toEqual({ stdout: "", stderr, code: 127 });
  });

  test("fails when the server says so, or is gone before the command has ended", async () => {
    const { onSocket } = streamed({ type: "error", code: "invalid_request", detail: 'the image has no user "x"' });
    await using api = await scriptedApi(life, onSocket);
    expect(await run(api, ["exec", "sb1", "--", "x"])).toEqual({ stdout: "", stderr: 'error: the image has no user "x"\n', code: 1 });
    await using gone = await scriptedApi(life, (socket) => socket.once("message", () => socket.terminate()));
    const said = await run(gone, ["exec", "sb1", "--", "x"]);
    expect(said).toMatchObject({ stderr: "error: the connection ended before the command did\n", code: 1 });
  });

  test("passes signals on to the command", async () => {
    let signal = (_name: "SIGINT"): void => {};
    await using api = await scriptedApi(life, (socket) => {
      socket.on("message", (data: Buffer) => {
        const { type } = JSON.parse(data.toString()) as { readonly type?: string };
        if (type === "eof") signal("SIGINT");
        if (type === "signal") socket.send(JSON.stringify({ type: "exit", exitCode: 130 }));
      });
    });
    const onSignal = (handler: typeof signal): void => void (signal = handler);
    expect(await run(api, ["exec", "sb1", "--", "sleep", "9"], { onSignal })).toEqual({ stdout: "", stderr: "", code: 130 });
  });
});

describe("a terminal", () => {
  /** A server with a terminal that says what it was sent, and ends when `q` is typed. */
  async function terminalApi(): Promise<ScriptedApi & { readonly sent: unknown[] }> {
    const sent: unknown[] = [];
    const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1", path: "/v1/sandboxes/sb1/terminal" });
    await new Promise((resolve) => sockets.once("listening", resolve));
    sockets.on("connection", (socket) => {
      socket.send(Buffer.from("$ "), { binary: true });
      socket.on("message", (data: Buffer, isBinary) => {
        const message = isBinary ? data.toString() : (JSON.parse(data.toString()) as unknown);
        sent.push(message);
        if (message === "q") socket.send(JSON.stringify({ type: "exit", exitCode: 4 }));
        if (message === "x") socket.close(1001, "the server ends");
      });
    });
    const { port } = sockets.address() as AddressInfo;
    // The right is asked for here, and leads to the sockets there.
    const api = await scriptedApi((request) =>
      request.path.endsWith("/exec-token")
        ? { status: 201, body: { path: `@127.0.0.1:${port}/v1/sandboxes/sb1/terminal?token=t` } }
        : life(request),
    );
    return {
      ...api,
      sent,
      [Symbol.asyncDispose]: async () => {
        for (const socket of sockets.clients) socket.terminate();
        sockets.close();
        await api[Symbol.asyncDispose]();
      },
    };
  }

  /** Types when the prompt is there. */
  function atTerminal(keys: string): CliSurroundings {
    let type = (_bytes: Uint8Array<ArrayBuffer>): void => {};
    let resize = (): void => {};
    const terminal = {
      rows: 30,
      cols: 90,
      show: (bytes: Uint8Array) => show(bytes),
      onTyped: (handler: typeof type) => void (type = handler),
      onResize: (handler: typeof resize) => void (resize = handler),
      [Symbol.dispose]: () => {},
    };
    const show = (bytes: Uint8Array): void => {
      if (!Buffer.from(bytes).toString().includes("$")) return;
      setImmediate(() => {
        resize();
        for (const key of keys) type(new TextEncoder().encode(key));
      });
    };
    return { terminal: () => terminal };
  }

  test("passes on what is typed and shown, and how the command ends", async () => {
    await using api = await terminalApi();
    expect(await run(api, ["exec", "-it", "sb1", "-u", "me"], atTerminal("aq"))).toEqual({ stdout: "", stderr: "", code: 4 });
    expect(api.asked).toEqual([{ method: "POST", path: "/v1/sandboxes/sb1/exec-token", body: { rows: 30, cols: 90, user: "me" } }]);
    expect(api.sent).toEqual([{ type: "resize", rows: 30, cols: 90 }, "a", "q"]);
  });

  test("in a sandbox of its own ends with it, also when the connection breaks", async () => {
    await using api = await terminalApi();
    const said = await run(api, ["run", "-t", "--", "top"], atTerminal("x"));
    expect(said).toMatchObject({ code: 1, stderr: "error: the terminal's connection ended: the server ends\n" });
    expect(api.asked[1]?.body).toEqual({ rows: 30, cols: 90, command: ["top"] });
    expect(calls(api).at(-1)).toBe("DELETE /v1/sandboxes/sb1");
  });

  test("is needed for --tty, and without one nothing is asked for or made", async () => {
    await using api = await terminalApi();
    for (const argv of [
      ["exec", "-t", "sb1"],
      ["run", "-t"],
    ]) {
      expect(await run(api, argv)).toMatchObject({ stderr: expect.stringContaining("--tty needs a terminal") as string, code: 1 });
    }
    expect(api.asked).toEqual([]);
  });
});

describe("agentbox logs", () => {
  test("shows what is there", async () => {
    await using api = await scriptedApi(() => ({ body: { lines: ["a", "b"], truncated: false } }));
    expect((await run(api, ["logs", "sb1", "--tail", "2", "--since", "5m"])).stdout).toBe("a\nb\n");
    expect(calls(api)).toEqual(["GET /v1/sandboxes/sb1/logs?tail=2&since=5m"]);
  });

  test.each([
    [['{"line":"a","partial":true}', '{"line":"b"}', '{"_meta":{"reason":"ended","lines":2}}', ""], "ab\n", "", 0],
    [['{"_meta":{"reason":"error","lines":0,"message":"the node is gone"}}', ""], "", "error: the node is gone\n", 1],
    [['{"_meta":{"reason":"shutdown","lines":0}}', ""], "", "error: the server has shut down; run the command again to continue\n", 1],
    [['{"line":"a"}', '{"lin'], "a\n", "error: the connection to the server broke; run the command again to continue\n", 1],
  ])("that are followed end with their last line: %j", async (lines, stdout, stderr, code) => {
    await using api = await scriptedApi(() => ({ body: lines.join("\n") }));
    expect(await run(api, ["logs", "-f", "sb1"])).toEqual({ stdout, stderr, code });
    expect(calls(api)).toEqual(["GET /v1/sandboxes/sb1/logs/stream"]);
  });
});

describe("commands on sandboxes", () => {
  test.each([
    ["pause", "POST /v1/sandboxes/sb1/pause", "is paused"],
    ["resume", "POST /v1/sandboxes/sb1/resume", "runs"],
    ["rm", "DELETE /v1/sandboxes/sb1", "has ended"],
    ["kill", "DELETE /v1/sandboxes/sb1", "has ended"],
  ])("%s goes on after one that fails", async (command, call, done) => {
    await using api = await scriptedApi(({ path }) =>
      path.includes("gone") ? problem(404, "not_found", "no such one") : { body: { sandbox } },
    );
    const said = await run(api, [command, "gone", "sb1"]);
    expect(said).toEqual({ stdout: `sandbox sb1 ${done}\n`, stderr: "error: no such one\n", code: 1 });
    expect(calls(api)[1]).toBe(call);
  });

  test("extend says when the sandbox ends now", async () => {
    const clock = new SteppedClock(Date.UTC(2026, 0, 1));
    await using api = await scriptedApi(() => ({
      body: { sandbox: { ...sandbox, endTime: "2026-01-01T00:30:00.000Z", idleTimeout: "5m" } },
    }));
    expect((await run(api, ["extend", "sb1", "--timeout", "30m", "--only-later"], { clock })).stdout).toBe(
      "sandbox sb1 ends in 30m, at 2026-01-01T00:30:00.000Z, and after 5m without use\n",
    );
    await run(api, ["extend", "sb1", "--timeout", "none", "--idle-timeout", "0"]);
    expect(api.asked.map(({ body }) => body)).toEqual([
      { lifetime: "30m", onlyLater: true },
      { lifetime: null, idleTimeout: "0" },
    ]);
  });

  test("scale sets the size of a pool", async () => {
    await using api = await scriptedApi(() => ({ body: {} }));
    expect((await run(api, ["scale", "base", "10"])).stdout).toBe("pool base now wants 10 pods\n");
    expect((await run(api, ["scale", "red/base", "0"])).stdout).toBe("pool red/base now wants 0 pods\n");
    expect(api.asked).toEqual([
      { method: "PUT", path: "/v1/pools/base/scale", body: { replicas: 10 } },
      { method: "PUT", path: "/v1/pools/base/scale?namespace=red", body: { replicas: 0 } },
    ]);
  });

  test("inspect shows all of it to programs", async () => {
    await using api = await scriptedApi(() => ({ body: { sandbox } }));
    expect((await run(api, ["inspect", "sb1", "-o", "yaml"])).stdout).toContain("poolName: base\nsandboxId: sb1\n");
    expect(JSON.parse((await run(api, ["inspect", "sb1", "-o", "json"])).stdout)).toEqual(sandbox);
  });

  test.each([
    [["run", "base", "ls"], "run takes one pool; write -- before a command: agentbox run base -- ls"],
    [["run", "--"], "-- must be followed by a command: agentbox run base -- echo hi"],
    [["run", "--keep"], "--keep cannot be used without a command"],
    [["run", "-o", "json", "--", "ls"], "--output cannot be used with a command"],
    [["run", "-t", "--command-timeout", "9s"], "--command-timeout cannot be used with --tty"],
    [
      ["run", "--timeout", "5parsecs"],
      '--timeout: "5parsecs" is not a duration: write numbers with units h, m, s, ms, us or ns, such as "90s" or "1h30m"',
    ],
    [["run", "-l", "a"], '--label needs KEY=VALUE, not "a"'],
    [["exec"], "exec needs the ID of a sandbox; agentbox ls lists them"],
    [["exec", "sb1"], "exec needs a command: agentbox exec sb1 -- ls /"],
    [["logs", "a", "b"], "logs takes one ID: unexpected b"],
    [["ls", "sb1"], "ls takes only flags: unexpected sb1. See agentbox inspect ID"],
    [["ls", "--limit", "-1"], "--limit must be a number of at least 0, not -1"],
    [["scale", "base"], "scale needs a pool and a number: agentbox scale base 10"],
    [["scale", "base", "many"], 'the size of a pool must be a whole number of at least 0, not "many"'],
    [["rm"], "rm needs the ID of a sandbox; agentbox ls lists them"],
    [["extend", "sb1"], "extend needs --timeout or --idle-timeout"],
  ])("%j is refused before any request is sent", async (argv, message) => {
    await using api = await scriptedApi(() => ({}));
    expect(await run(api, argv)).toEqual({ stdout: "", stderr: `error: ${message}\nSee: agentbox help ${argv[0] ?? ""}\n`, code: 2 });
    expect(api.asked).toEqual([]);
  });
});
