import { once } from "node:events";
import { get } from "node:http";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { CommandNotStarted } from "#kube/pod-access.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { SandboxApi } from "../../../../test/world/sandbox-api.ts";
import { ann } from "../../../../test/world/service-scene.ts";

interface Terminal {
  readonly socket: WebSocket;
  readonly binary: () => string;
  readonly texts: unknown[];
}

class Bench implements AsyncDisposable {
  readonly world: SandboxApi;
  readonly address: string;
  readonly #sockets: WebSocket[] = [];

  private constructor(world: SandboxApi, address: string) {
    this.world = world;
    this.address = address;
  }

  /** With a running sandbox i1 of ann's. */
  static async open(): Promise<Bench> {
    const world = await SandboxApi.open();
    await world.scene.sandbox("i1");
    return new Bench(world, await world.api.listen());
  }

  get pods() {
    return this.world.scene.pods;
  }

  async path(body?: object): Promise<string> {
    const answer = await this.world.api.ask("POST /v1/sandboxes/i1/exec-token", body === undefined ? {} : { body });
    if (answer.status !== 201) throw new Error(answer.text);
    return (answer.json as { path: string }).path;
  }

  connect(path: string, headers: Record<string, string> = {}): WebSocket {
    const socket = new WebSocket(`${this.address.replace("http", "ws")}${path}`, { headers });
    socket.on("error", () => {});
    this.#sockets.push(socket);
    return socket;
  }

  async terminal(body?: object): Promise<Terminal> {
    const socket = this.connect(await this.path(body));
    const [chunks, texts]: [Buffer[], unknown[]] = [[], []];
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) chunks.push(data);
      else texts.push(JSON.parse(data.toString()));
    });
    await once(socket, "open");
    return { socket, texts, binary: () => Buffer.concat(chunks).toString() };
  }

  /** What a handshake that is refused is answered. */
  async refused(path: string, headers: Record<string, string> = {}): Promise<{ status: number | undefined; body: unknown }> {
    const socket = this.connect(path, headers);
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, NodeJS.ReadableStream & { statusCode: number }];
    const chunks = await Array.fromAsync(response as AsyncIterable<Buffer>);
    return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    await this.world[Symbol.asyncDispose]();
  }
}

test("a terminal shows what the command writes and gives it what is typed, to its end", async () => {
  await using bench = await Bench.open();
  const { socket, binary, texts } = await bench.terminal({ rows: 30, cols: 100, env: { LANG: "C" } });
  expect(bench.pods.ran).toMatchObject([{ command: { tty: { rows: 30, cols: 100 }, env: { TERM: "xterm-256color", LANG: "C" } } }]);
  socket.send('{"type":"stdin","data":"ls\\n"}');
  socket.send('{"type":"resize","rows":31,"cols":101}');
  await eventually(() => expect(bench.pods.typed()).toBe("ls\n"));
  expect(bench.pods.sizes).toEqual([[31, 101]]);
  bench.pods.end(7, "fileé\r\n");
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  expect([binary(), texts, code, reason.toString()]).toEqual(["fileé\r\n", [{ type: "exit", exitCode: 7 }], 1000, "the command has ended"]);
});

test("what is typed may be bytes that are no text", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  socket.send(Buffer.from([0xff, 0x00, 0x0a]));
  await eventually(() => expect(bench.pods.program.stdin.read()).toEqual(Buffer.from([0xff, 0x00, 0x0a])));
});

test("a terminal whose command cannot be started says why", async () => {
  await using bench = await Bench.open();
  const { socket, texts } = await bench.terminal();
  bench.pods.break(new CommandNotStarted("not-found", 'there is no program "x"'));
  expect(((await once(socket, "close")) as [number])[0]).toBe(1000);
  expect(texts).toEqual([{ type: "exit", exitCode: 127, startError: 'there is no program "x"' }]);
});

test("a terminal is a shell when nothing else is asked for", async () => {
  await using bench = await Bench.open();
  await bench.terminal();
  expect(bench.pods.ran).toMatchObject([{ command: { argv: ["/bin/sh", "-c", expect.any(String)], tty: { rows: 24, cols: 80 } } }]);
});

test("a token is good once, for its sandbox, and for 30 seconds", async () => {
  await using bench = await Bench.open();
  await bench.world.scene.sandbox("i2");
  const used = await bench.path();
  await once(bench.connect(used), "open");
  const old = await bench.path();
  await bench.world.api.clock.step(30_000);
  const other = (await bench.path()).replace("i1", "i2");
  for (const path of [used, old, other, "/v1/sandboxes/i1/terminal?token=made-up"]) {
    expect(await bench.refused(path)).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
  }
  expect(await bench.refused("/v1/sandboxes/i1/terminal")).toMatchObject({ status: 400, body: { field: "query.token" } });
  expect(bench.pods.ran).toHaveLength(1);
});

test("a terminal ends with the key that its token was issued to, and tokens of that key open none", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  const unused = await bench.path();
  const closed = once(socket, "close") as Promise<[number, Buffer]>;
  bench.world.api.endKey(ann.keyId);
  const [code, reason] = await closed;
  expect([code, reason.toString()]).toEqual([1001, "the API key was revoked or has expired"]);
  await eventually(() => expect(bench.pods.ran[0]?.command.signal?.aborted).toBe(true));
  expect(await bench.refused(unused)).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
});

test("pages of other servers get no terminal, those of this one do", async () => {
  await using bench = await Bench.open();
  const path = await bench.path();
  for (const origin of ["https://evil.example", "null"]) {
    expect(await bench.refused(path, { origin })).toMatchObject({ status: 403, body: { code: "forbidden", field: "header.origin" } });
  }
  await once(bench.connect(path, { origin: bench.address }), "open");
});

test("a plain request is told to use a WebSocket", async () => {
  await using bench = await Bench.open();
  expect(await bench.world.api.ask(`GET ${await bench.path()}`)).toMatchObject({ status: 400, json: { field: "header.upgrade" } });
});

test("a sandbox that is not in a state for it is an answer, not a connection", async () => {
  await using bench = await Bench.open();
  const path = await bench.path();
  await bench.world.scene.end("i1");
  expect(await bench.refused(path)).toMatchObject({ status: 409, body: { code: "conflict" } });
});

test.for([
  ["no JSON", "ls\n"],
  ["another type", '{"type":"stdout","data":"x"}'],
  ["no size", '{"type":"resize","rows":0,"cols":1}'],
] as const)("what it does not understand ends the terminal and the command: %s", async ([, message]) => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  socket.send(message);
  expect(((await once(socket, "close")) as [number])[0]).toBe(1008);
  await eventually(() => expect(bench.pods.ran[0]?.command.signal?.aborted).toBe(true));
});

test("a command that cannot be run closes the terminal with an error, which the log explains", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  bench.pods.break(new Error("no such program"));
  expect(((await once(socket, "close")) as [number])[0]).toBe(1011);
  expect(bench.world.api.logged.lines.filter(({ level }) => level === "warn")).toMatchObject([{ msg: "terminal failed", sandboxId: "i1" }]);
});

test("a client that goes away ends the command and leaves nothing behind", async () => {
  await using bench = await Bench.open();
  const timers = bench.world.api.clock.pending;
  const { socket } = await bench.terminal();
  expect(bench.world.api.clock.pending).toBe(timers + 1);
  socket.terminate();
  await eventually(() => expect(bench.pods.ran[0]?.command.signal?.aborted).toBe(true));
  await eventually(() => expect(bench.world.api.clock.pending).toBe(timers));
});

test("a silent client gets pings, and its connection is closed when it does not answer", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  for (let turn = 0; turn < 3; turn++) {
    const asked = once(socket, "ping");
    await bench.world.api.clock.step(30_000);
    await asked;
    // Comes behind the answer to the ping.
    socket.send('{"type":"stdin","data":"x"}');
    await eventually(() => expect(bench.pods.typed()).toBe("x"));
  }
  const { signal } = bench.pods.ran[0]?.command ?? {};
  socket.pause();
  await bench.world.api.clock.step(30_000);
  expect(signal?.aborted).toBe(false);
  await bench.world.api.clock.step(30_000);
  await eventually(() => expect(signal?.aborted).toBe(true));
});

test("a server that shuts down closes terminals, also those of clients that do not answer", async () => {
  await using bench = await Bench.open();
  const [one, deaf] = [await bench.terminal(), await bench.terminal()];
  deaf.socket.pause();
  const closed = once(one.socket, "close") as Promise<[number]>;
  const ended = bench.world.api.end();
  expect((await closed)[0]).toBe(1001);
  await bench.world.api.clock.step(1000);
  await ended;
  expect(bench.pods.ran.map(({ command }) => command.signal?.aborted)).toEqual([true, true]);
});

test("of what a command writes no more is read than fits on the way to a slow reader", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  socket.pause();
  const stuck = await bench.pods.writeUntilStuck(Buffer.alloc(64 * 1024, "x"), 10_000);
  expect(stuck).toBe(true);
});

test("what is typed faster than the command reads is left with the client", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  const message = JSON.stringify({ type: "stdin", data: "x".repeat(64 * 1024) });
  // More than the kernel's buffers hold.
  for (let turn = 0; turn < 400; turn++) socket.send(message);
  await eventually(() => expect(bench.pods.waiting()).toBeGreaterThan(0));
  let before = -1;
  await eventually(() => {
    const last = before;
    before = bench.pods.waiting();
    expect(before).toBe(last);
  });
  expect(bench.pods.waiting()).toBeLessThan(10 * 64 * 1024);
  expect(socket.bufferedAmount).toBeGreaterThan(0);
  // Nothing is read of it, and yet it is noticed that it is gone.
  const { signal } = bench.pods.ran[0]?.command ?? {};
  socket.terminate();
  await eventually(async () => {
    await bench.world.api.clock.step(30_000);
    expect(signal?.aborted).toBe(true);
  });
});

test("a terminal is counted when it ends", async () => {
  await using bench = await Bench.open();
  const { socket } = await bench.terminal();
  const counted = 'agentbox_http_requests_total{route="/v1/sandboxes/:sandboxId/terminal",method="GET",code="101"} 1';
  expect(await bench.world.api.metrics()).not.toContain(counted);
  socket.close();
  await eventually(async () => expect(await bench.world.api.metrics()).toContain(counted));
});

test("other protocols are offers that need not be taken", async () => {
  await using bench = await Bench.open();
  const headers = { "x-api-key": "ann", connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABk" };
  const status = await new Promise((resolve, reject) => {
    get(`${bench.address}/v1/sandboxes/i1`, { headers }, (response) => resolve(response.resume().statusCode)).on("error", reject);
  });
  expect(status).toBe(200);
  expect(await bench.refused("/v1/sandboxes/none", { "x-api-key": "ann" })).toMatchObject({ status: 404, body: { code: "not_found" } });
  expect(await bench.refused("/v1/sandboxes/i1")).toMatchObject({ status: 401 });
});
