import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { ClientExec } from "#client/exec-stream.ts";
import { CommandNotStarted } from "#kube/pod-access.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { SandboxApi } from "../../../../test/world/sandbox-api.ts";

class Bench implements AsyncDisposable {
  readonly world: SandboxApi;
  readonly address: string;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly gone = new AbortController();
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

  /** Through our client, until the command runs. */
  async run(wish: object = {}): Promise<ClientExec> {
    const { stdin, stdout, stderr, gone } = this;
    const { sandboxes } = new AgentBoxClient({ url: this.address, apiKey: "ann" });
    const running = await sandboxes.execStream("i1", { command: ["sh"], ...wish }, { stdin, stdout, stderr, signal: gone.signal });
    await eventually(() => {
      if (this.pods.ran.length === 0) throw new Error("the command does not run yet");
    });
    return running;
  }

  /** A client without our client's rules. */
  socket(id = "i1", headers: Record<string, string> = { "x-api-key": "ann" }): WebSocket {
    const socket = new WebSocket(`${this.address.replace("http", "ws")}/v1/sandboxes/${id}/exec/stream`, { headers });
    socket.on("error", () => {});
    this.#sockets.push(socket);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    this.gone.abort();
    await this.world[Symbol.asyncDispose]();
  }
}

test("bytes pass unchanged in both directions, and the exit code is the command's", async () => {
  await using bench = await Bench.open();
  const running = await bench.run({ user: "u", workingDir: "/w", env: { A: "b" } });
  expect(bench.pods.ran).toMatchObject([{ command: { argv: ["sh"], user: "u", workingDir: "/w", env: { A: "b" } } }]);
  const [input, output, errors] = [randomBytes(3_000_000), randomBytes(3_000_000), randomBytes(1000)];
  const { program } = bench.pods;
  bench.stdin.end(input);
  program.stdout.end(output);
  program.stderr.end(errors);
  const [got, shown, told] = [buffer(program.stdin), readAll(bench.stdout), readAll(bench.stderr)];
  expect((await got).equals(input)).toBe(true);
  bench.pods.exit(7);
  expect(await running.ended).toEqual({ exitCode: 7 });
  expect([shown().equals(output), told().equals(errors)]).toEqual([true, true]);
});

test("a command that does not read keeps the client from sending, and the server still hears it", async () => {
  await using bench = await Bench.open();
  const running = await bench.run();
  let read = 0;
  const piece = Buffer.alloc(64 * 1024);
  bench.stdin.on("drain", () => write());
  const write = (): void => {
    while (read < 64 * 1024 * 1024 && bench.stdin.write(piece)) read += piece.length;
  };
  write();
  await eventually(() => expect(bench.pods.waiting()).toBeGreaterThan(100_000));
  running.signal("SIGINT");
  await eventually(() => expect(bench.pods.signals).toEqual(["SIGINT"]));
  expect(read).toBeLessThan(2 * 1024 * 1024);
  bench.gone.abort();
  await eventually(() => expect(bench.pods.ran[0]?.command.signal?.aborted).toBe(true));
  await expect(running.ended).rejects.toThrow("the connection ended before the command did");
});

test("a client that does not read keeps the command from writing", async () => {
  await using bench = await Bench.open();
  await bench.run();
  expect(await bench.pods.writeUntilStuck(Buffer.alloc(64 * 1024), 2000)).toBe(true);
});

test("an output that the client closes is closed for the command, and the other one goes on", async () => {
  await using bench = await Bench.open();
  const running = await bench.run();
  bench.stdout.destroy(new Error("EPIPE"));
  const { program } = bench.pods;
  await eventually(() => expect(program.stdout.destroyed).toBe(true));
  program.stderr.end("still here");
  bench.pods.exit(141);
  expect(await running.ended).toEqual({ exitCode: 141 });
  expect(String(bench.stderr.read())).toBe("still here");
});

test("a program that cannot be started ends as a shell would, with the reason; a wrong user is an error", async () => {
  await using bench = await Bench.open();
  const running = await bench.run();
  bench.pods.break(new CommandNotStarted("not-found", 'there is no program "sh" in PATH'));
  expect(await running.ended).toEqual({ exitCode: 127, startError: 'there is no program "sh" in PATH' });
  bench.pods.ran.length = 0;
  const other = await bench.run();
  bench.pods.break(new CommandNotStarted("user", 'the image has no user "x"'));
  await expect(other.ended).rejects.toMatchObject({ code: "invalid_request", details: { field: "user" } });
});

test("a command lives without a limit of time, or as long as it was given", async () => {
  await using bench = await Bench.open();
  const running = await bench.run();
  await bench.world.api.clock.step(3_600_000);
  bench.pods.end(0);
  expect(await running.ended).toEqual({ exitCode: 0 });
  bench.pods.ran.length = 0;
  const limited = await bench.run({ timeout: "2s" });
  await bench.world.api.clock.step(2000);
  expect(bench.pods.ran[0]?.command.signal?.aborted).toBe(true);
  bench.pods.break(new Error("killed"));
  await expect(limited.ended).rejects.toMatchObject({ code: "timeout", message: "the command did not end within 2s and was killed" });
});

test.for<[string, string | Buffer, string, string?]>([
  ["no JSON", "ls", "invalid_request"],
  ["no command", "{}", "invalid_request", "command"],
  ["a field that there is not", '{"command":["ls"],"tty":true}', "invalid_request"],
  ["a container that there is not", '{"command":["ls"],"container":"side"}', "invalid_request", "container"],
])("%s is refused, with the place", async ([, first, code, field]) => {
  await using bench = await Bench.open();
  const socket = bench.socket();
  await once(socket, "open");
  socket.send(first);
  const [message] = (await once(socket, "message")) as [Buffer];
  expect(JSON.parse(message.toString())).toMatchObject({ type: "error", code, ...(field !== undefined && { field }) });
  expect(((await once(socket, "close")) as [number])[0]).toBe(1011);
  expect(bench.pods.ran).toEqual([]);
});

test.for<[string, (string | Buffer)[]]>([
  ["input before a command", [Buffer.from("x")]],
  ["a message that there is not", ['{"command":["ls"]}', '{"type":"signal","signal":"SIGNOT"}']],
])("%s ends the connection", async ([, messages]) => {
  await using bench = await Bench.open();
  const socket = bench.socket();
  await once(socket, "open");
  for (const message of messages) socket.send(message);
  expect(((await once(socket, "close")) as [number])[0]).toBe(1008);
});

test("a client that sends no command is disconnected", async () => {
  await using bench = await Bench.open();
  const socket = bench.socket();
  await once(socket, "open");
  const closed = once(socket, "close");
  await bench.world.api.clock.step(10_000);
  expect(((await closed) as [number])[0]).toBe(1008);
});

test("without a key for this sandbox there is no connection, and none for pages of other servers", async () => {
  await using bench = await Bench.open();
  const refused = async (socket: WebSocket): Promise<number> => {
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
    return response.statusCode;
  };
  expect(await refused(bench.socket("i1", {}))).toBe(401);
  expect(await refused(bench.socket("i1", { "x-api-key": "eve" }))).toBe(404);
  expect(await refused(bench.socket("i2"))).toBe(404);
  expect(await refused(bench.socket("i1", { "x-api-key": "ann", origin: "https://evil.example" }))).toBe(403);
});

test("a client that does not wait for its input to be taken is not read from, and loses nothing", async () => {
  await using bench = await Bench.open();
  const socket = bench.socket();
  await once(socket, "open");
  socket.send('{"command":["cat"]}');
  const input = randomBytes(4 * 1024 * 1024);
  for (let at = 0; at < input.length; at += 64 * 1024) socket.send(input.subarray(at, at + 64 * 1024));
  socket.send('{"type":"eof"}');
  await eventually(() => expect(bench.pods.ran).toHaveLength(1));
  expect((await buffer(bench.pods.program.stdin)).equals(input)).toBe(true);
});

/** All messages from now on. */
function readAll(stream: PassThrough): () => Buffer {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks);
}
