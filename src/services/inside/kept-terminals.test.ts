/** Terminals over a daemon that answers what a test wants. */
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { PodStream, PodStreamRequest } from "#daemon-client/pod-stream.ts";
import { connectFrame } from "./connect-frames.ts";
import type { DaemonDoor } from "./daemon-door.ts";
import { endTerminal, joinTerminal, listTerminals, startTerminal } from "./kept-terminals.ts";

const { signal } = new AbortController();
const base64 = (plain: string): string => Buffer.from(plain).toString("base64");
const event = (one: object): Buffer => connectFrame({ event: one });
const listed = JSON.stringify({ processes: [{ pid: 7, config: { cmd: "/bin/bash", args: ["-l"] } }] });

async function* pieces(...all: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const piece of all) yield Buffer.from(piece);
}

function aDaemon(frames: readonly Buffer[] = [], failing?: string) {
  const asked: { readonly method: string; readonly message: Record<string, unknown>; readonly headers: PodStreamRequest["headers"] }[] = [];
  const door: Pick<DaemonDoor, "ask"> = {
    ask: async ({ path, body = "", headers }): Promise<PodStream> => {
      const method = path.split("/").at(-1) ?? "";
      const plain = typeof body === "string" ? body : body.subarray(5).toString();
      asked.push({ method, message: JSON.parse(plain) as Record<string, unknown>, headers });
      if (method === failing) return { status: 404, headers: {}, body: pieces('{"message":"gone"}') };
      const streamed = method === "Start" || method === "Connect";
      return { status: 200, headers: {}, body: streamed ? pieces(...frames) : pieces(method === "List" ? listed : "{}") };
    },
  };
  return { door: door as DaemonDoor, asked };
}

test("a terminal is started with its size, user and command, and left to itself", async () => {
  const { door, asked } = aDaemon([event({ start: { pid: 7 } })]);
  expect(await startTerminal(door, { argv: ["bash", "-l"], rows: 30, cols: 100, user: "ann", env: { A: "1" } }, signal)).toBe(7);
  expect(asked).toMatchObject([
    {
      method: "Start",
      message: { process: { cmd: "bash", args: ["-l"], envs: { A: "1" } }, pty: { size: { rows: 30, cols: 100 } } },
      headers: { authorization: `Basic ${base64("ann:")}` },
    },
  ]);
});

test("the list asks for terminals alone", async () => {
  const { door, asked } = aDaemon();
  expect(await listTerminals(door, {}, signal)).toEqual([{ pid: 7, command: ["/bin/bash", "-l"] }]);
  expect(asked[0]?.headers).toMatchObject({ "agentbox-terminals-only": "1" });
});

describe("joining", () => {
  test("sets the size, begins with what the terminal wrote last, and passes on what is typed, in order", async () => {
    const { door, asked } = aDaemon([
      event({ start: { pid: 7 } }),
      event({ data: { pty: base64("before ") } }),
      event({ data: { pty: base64("now") } }),
      event({ end: { exitCode: 3, exited: true } }),
    ]);
    const joined = await joinTerminal(door, { pid: 7, rows: 30, cols: 100 }, signal);
    expect(await text(joined.stdout)).toBe("before now");
    expect(await joined.exitCode).toBe(3);
    joined.stdin.write("l");
    joined.stdin.write("s");
    joined.stdin.write("\n");
    await new Promise<void>((resolve) => joined.stdin.end(resolve));
    const typed = asked.filter(({ method }) => method === "SendInput").map(({ message }) => (message["input"] as { pty: string }).pty);
    expect(Buffer.concat(typed.map((piece) => Buffer.from(piece, "base64"))).toString()).toBe("ls\n");
    expect(asked.slice(0, 3).map(({ method }) => method)).toEqual(["List", "Update", "Connect"]);
    expect(asked[2]?.headers).toMatchObject({ "agentbox-replay": "1" });
  });

  test("a terminal that a signal ended has the exit code of a shell", async () => {
    const { door } = aDaemon([event({ start: { pid: 7 } }), event({ end: { exitCode: -1, exited: false, status: "signal: killed" } })]);
    const joined = await joinTerminal(door, { pid: 7, rows: 24, cols: 80 }, signal);
    joined.stdout.resume();
    expect(await joined.exitCode).toBe(137);
  });

  test("a process that is no terminal cannot be joined or ended", async () => {
    const { door, asked } = aDaemon();
    const wanted = { pid: 8, rows: 24, cols: 80 };
    await expect(joinTerminal(door, wanted, signal)).rejects.toMatchObject({ code: "not_found", message: "the sandbox has no terminal 8" });
    await expect(endTerminal(door, wanted, signal)).rejects.toMatchObject({ code: "not_found" });
    expect(asked.map(({ method }) => method)).toEqual(["List", "List"]);
  });

  test("a connection that breaks off is a failure, and no end of the terminal", async () => {
    const { door } = aDaemon([event({ start: { pid: 7 } })]);
    const joined = await joinTerminal(door, { pid: 7, rows: 24, cols: 80 }, signal);
    joined.stdout.resume();
    await expect(joined.exitCode).rejects.toMatchObject({ code: "unavailable" });
  });
});

test("ending kills the command of the terminal", async () => {
  const { door, asked } = aDaemon();
  await endTerminal(door, { pid: 7 }, signal);
  expect(asked.at(-1)).toMatchObject({ method: "SendSignal", message: { process: { pid: 7 }, signal: "SIGNAL_SIGKILL" } });
});
