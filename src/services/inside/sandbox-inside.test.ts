import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { type Answer, InsideScene, pieces } from "../../../test/world/inside-scene.ts";
import { ann, eve, failureOf, type ServiceScene } from "../../../test/world/service-scene.ts";
import { ServiceError } from "../service-error.ts";
import { connectFrame } from "./connect-frames.ts";
import type { SandboxInside } from "./sandbox-inside.ts";

let world: InsideScene;
let scene: ServiceScene;
let inside: SandboxInside;
const { signal } = new AbortController();

beforeEach(async () => {
  world = await InsideScene.open();
  ({ services: scene, inside } = world);
});
afterEach(() => world[Symbol.asyncDispose]());

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const end = Buffer.concat([Buffer.from([2, 0, 0, 0, 2]), Buffer.from("{}")]);
const failedEnd = (error: object): Buffer => {
  const frame = connectFrame({ error });
  frame[0] = 2;
  return frame;
};
const event = (one: object): Buffer => connectFrame({ event: one });
const started = event({ start: { pid: 7 } });

/** What Start answers; the other calls of the process service answer nothing. */
function processes(...frames: readonly Buffer[]): void {
  world.answer = ({ path }) => (path.endsWith("/Start") ? { body: pieces(...frames) } : { body: "{}" });
}

async function run(more: object = {}, until = signal) {
  const output: string[] = [];
  const onOutput = (stream: string, bytes: Buffer): void => void output.push(`${stream} ${bytes.toString()}`);
  const outcome = await inside.run(ann, "i-1", { argv: ["sh", "-c", "x"], timeoutMs: 1000, onOutput, ...more }, until);
  return { outcome, output };
}

describe("a daemon that was replaced and never ends its answer", () => {
  /** It goes on to say that it is there, and does not hear that its client leaves. */
  const never = (): Answer => ({ body: { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) } });

  test("holds up a command for ten seconds more than the command's own limit, and no longer", async () => {
    await scene.sandbox("i-1");
    world.answer = never;
    const running = run({ timeoutMs: 60_000 });
    let isOver = false;
    void running.finally(() => (isOver = true));
    await scene.clock.step(69_000);
    expect(isOver).toBe(false);
    await scene.clock.step(1_000);
    expect((await running).outcome).toEqual({ exitCode: -1, timedOut: true });
  });

  test("holds up no other use of the sandbox for more than five minutes", async () => {
    const pod = await scene.sandbox("i-1");
    world.answer = never;
    const wanted = { path: "a", to: "b", offset: 0, length: 9, depth: 1, bytes: Buffer.alloc(0), argv: ["x"] };
    const uses = ["start", "readFile", "writeFile", "listFolder", "removeEntry", "makeFolder", "moveEntry"] as const;
    const failures = uses.map((use) => failureOf(inside[use](ann, "i-1", wanted, signal) as Promise<unknown>));
    await scene.clock.step(300_000);
    for (const failure of failures) expect(await failure).toMatchObject({ code: "timeout", message: expect.stringContaining("within 5m") });
    expect(await scene.activity.activityOf(pod)).toMatchObject({ inUse: false });
  });
});

describe("whose sandbox, and in what state", () => {
  test("another tenant's sandbox does not exist, and its daemon is not asked", async () => {
    await scene.sandbox("i-1");
    const wanted = { path: "a", offset: 0, length: 9, depth: 1, bytes: Buffer.alloc(0), argv: ["x"], timeoutMs: 1, onOutput: () => {} };
    for (const use of ["run", "start", "readFile", "writeFile", "listFolder"] as const) {
      const failure = await failureOf(inside[use](eve, "i-1", wanted, signal));
      expect(failure).toMatchObject({ code: "not_found", message: 'there is no sandbox "i-1"' });
    }
    expect(await failureOf(inside.runCode(eve, "i-1", { code: "1" }, signal))).toMatchObject({ code: "not_found" });
    expect(world.asked).toEqual([]);
  });

  test("a pod that carries another sandbox by now is not asked, though the cache does not know it yet", async () => {
    await scene.sandbox("i-1");
    await scene.changeUnseen("i-1", { labels: { [labelKeys.sandboxId]: "i-2", [labelKeys.team]: "blue" } });
    expect(await failureOf(run())).toMatchObject({ code: "conflict", message: expect.stringContaining("has ended meanwhile") });
    expect(world.asked).toEqual([]);
  });

  test("a paused sandbox refuses, and so does one that starts until its daemon works for it", async () => {
    await scene.sandbox("i-1", { phase: "starting" });
    await scene.sandbox("i-paused", { annotations: { [annotationKeys.paused]: scene.now } });
    const folder = { path: ".", depth: 1 };
    expect(await failureOf(inside.listFolder(ann, "i-paused", folder, signal))).toMatchObject({
      code: "conflict",
      message: "sandbox i-paused is paused: listing a folder of it is possible once it is resumed (agentbox resume i-paused)",
    });
    world.armedFor = "i-2";
    expect(await failureOf(inside.listFolder(ann, "i-1", folder, signal))).toMatchObject({ code: "conflict" });
    world.armedFor = "i-1";
    world.answer = () => ({ body: "{}" });
    expect(await inside.listFolder(ann, "i-1", folder, signal)).toEqual([]);
  });

  test("the daemon is asked at its pod's address, with the sandbox's token", async () => {
    await scene.sandbox("i-1");
    await inside.writeFile(ann, "i-1", { path: "a b", bytes: Buffer.from("x"), user: "root" }, signal);
    expect(world.asked[0]).toMatchObject({ at: { ip: "10.0.0.7" }, method: "POST", path: "/files?path=a+b&username=root" });
    expect(world.asked[0]?.headers).toMatchObject({ "x-access-token": "token-of-i-1", "content-length": "1" });
  });

  test("a request is use of its sandbox for as long as it goes on, and no longer when it fails", async () => {
    const pod = await scene.sandbox("i-1");
    let during: unknown;
    world.answer = async () => {
      during = await scene.activity.activityOf(pod);
      throw new Error("connection refused");
    };
    const failure = await failureOf(inside.readFile(ann, "i-1", { path: "a", offset: 0, length: 1 }, signal));
    expect(failure).toMatchObject({ code: "unavailable", message: expect.stringContaining("does not answer") });
    expect(failure.message).not.toContain("10.0.0.7");
    expect(during).toMatchObject({ inUse: true });
    expect(await scene.activity.activityOf(pod)).toMatchObject({ inUse: false });
  });
});

describe("commands", () => {
  beforeEach(() => scene.sandbox("i-1"));

  test("a command tells its output as it comes, and how it ended", async () => {
    const data = event({ data: { stdout: base64("out"), stderr: base64("err") } });
    const all = Buffer.concat([started, event({ keepalive: {} }), data, event({ end: { exitCode: 3, exited: true } }), end]);
    // Frames do not come in one piece each.
    processes(...[...all].map((byte) => Buffer.from([byte])));
    const { outcome, output } = await run({ user: "root", workingDir: "/tmp", env: { A: "1" } });
    expect([outcome, output]).toEqual([{ exitCode: 3, timedOut: false }, ["stdout out", "stderr err"]]);
    const [start] = world.asked;
    expect(start?.headers).toMatchObject({ "connect-timeout-ms": "1000", authorization: `Basic ${base64("root:")}` });
    const sent = JSON.parse(String(start?.body).slice(5)) as unknown;
    expect(sent).toEqual({ process: { cmd: "sh", args: ["-c", "x"], envs: { A: "1" }, cwd: "/tmp" } });
  });

  test("a command that a signal ended says which", async () => {
    processes(started, event({ end: { exitCode: -1, status: "signal: killed" } }), end);
    expect((await run()).outcome).toEqual({ exitCode: -1, timedOut: false, status: "signal: killed" });
  });

  test("input is given, and its end too", async () => {
    let finish = (): void => {};
    const closed = new Promise<void>((resolve) => (finish = resolve));
    world.answer = ({ path }) => {
      if (path.endsWith("/CloseStdin")) finish();
      return { body: path.endsWith("/Start") ? untilClosed() : "{}" };
    };
    async function* untilClosed(): AsyncGenerator<Buffer> {
      yield started;
      await closed;
      yield event({ end: { exitCode: 0, exited: true } });
    }
    await run({ stdin: "in" });
    expect(world.asked.map(({ path }) => path.replace("/process.Process/", ""))).toEqual(["Start", "SendInput", "CloseStdin"]);
    expect(JSON.parse(String(world.asked[1]?.body))).toEqual({ process: { pid: 7 }, input: { stdin: base64("in") } });
  });

  test("output is read while input is given: a command may write before it has read all", async () => {
    let read = (): void => {};
    const outputRead = new Promise<void>((resolve) => (read = resolve));
    world.answer = async ({ path }) => {
      if (path.endsWith("/SendInput")) await outputRead;
      const frames = [started, event({ data: { stdout: base64("o") } }), event({ end: { exited: true } }), end];
      return { body: path.endsWith("/Start") ? pieces(...frames) : "{}" };
    };
    expect((await run({ stdin: "in", onOutput: () => read() })).outcome).toEqual({ exitCode: 0, timedOut: false });
  });

  test("a command whose input cannot be given is ended, and does not wait for it", async () => {
    world.answer = ({ path }, until) => {
      if (path.endsWith("/CloseStdin")) throw new Error("connection refused");
      return { body: path.endsWith("/Start") ? endless(until) : "{}" };
    };
    expect(await failureOf(run())).toMatchObject({ code: "unavailable" });
    expect(world.asked.at(-1)?.path).toBe("/process.Process/SendSignal");
  });

  test("a command that takes too long has timed out", async () => {
    processes(started, failedEnd({ code: "deadline_exceeded" }));
    expect((await run()).outcome).toEqual({ exitCode: -1, timedOut: true });
  });

  test("a command is killed when its caller goes", async () => {
    const leaving = new AbortController();
    world.answer = ({ path }, until) => ({ body: path.endsWith("/Start") ? endless(until) : "{}" });
    const gone = new Error("gone");
    const running = run({}, leaving.signal);
    await expect.poll(() => world.asked.length).toBe(2);
    leaving.abort(gone);
    await expect(running).rejects.toBe(gone);
    expect(JSON.parse(String(world.asked.at(-1)?.body))).toEqual({ process: { pid: 7 }, signal: "SIGNAL_SIGKILL" });
  });

  async function* endless(until: AbortSignal): AsyncGenerator<Buffer> {
    yield started;
    await new Promise((_, reject) => until.addEventListener("abort", () => reject(until.reason as Error)));
  }

  test("a daemon that breaks off, or says nothing of the end, is unavailable", async () => {
    processes(started);
    expect(await failureOf(run())).toMatchObject({ code: "unavailable", message: expect.stringContaining("before the command did") });
    processes(started, end);
    expect(await failureOf(run())).toMatchObject({ code: "unavailable" });
    processes(Buffer.from([0, 255, 255, 255, 255]));
    expect(await failureOf(run())).toMatchObject({ code: "unavailable", message: expect.stringContaining("4294967295 bytes") });
  });

  test.each([
    ["invalid_argument", "invalid_request"],
    ["not_found", "not_found"],
    ["failed_precondition", "conflict"],
    ["internal", "unavailable"],
  ])("a daemon that fails with %s has failed with %s, in its words", async (code, ours) => {
    processes(failedEnd({ code, message: "no such user" }));
    expect(await failureOf(run())).toMatchObject({ code: ours, message: "no such user" });
  });

  test("a command in the background is known by its process id, and goes on", async () => {
    processes(started, event({ data: { stdout: base64("o") } }));
    expect(await inside.start(ann, "i-1", { argv: ["sleep", "1"] }, signal)).toBe(7);
    expect(world.asked).toHaveLength(1);
    processes(end);
    expect(await failureOf(inside.start(ann, "i-1", { argv: ["x"] }, signal))).toMatchObject({ code: "unavailable" });
  });
});

describe("files", () => {
  beforeEach(() => scene.sandbox("i-1"));
  const read = (offset: number, length: number) => inside.readFile(ann, "i-1", { path: "a", offset, length }, signal);

  test("a part of a file is asked for, and the size of the whole is known", async () => {
    world.answer = () => ({ status: 206, headers: { "content-range": "bytes 2-4/10" }, body: "cde" });
    expect(await read(2, 3)).toEqual({ bytes: Buffer.from("cde"), size: 10 });
    expect(world.asked[0]?.headers).toMatchObject({ range: "bytes=2-4" });
  });

  test("beyond the end there is nothing", async () => {
    world.answer = () => ({ status: 416, headers: { "content-range": "bytes */10" } });
    expect(await read(20, 3)).toEqual({ bytes: Buffer.alloc(0), size: 10 });
  });

  test("a file without an end is read as far as was asked", async () => {
    let given = 0;
    async function* zeros(): AsyncGenerator<Buffer> {
      for (; given < 1000; given++) yield Buffer.alloc(4);
    }
    world.answer = () => ({ body: zeros() });
    expect((await read(0, 10)).bytes).toEqual(Buffer.alloc(10));
    expect(given).toBeLessThan(5);
  });

  test.each([
    [404, "not_found"],
    [507, "too_large"],
    [500, "unavailable"],
    [400, "invalid_request"],
  ])("a refusal with %i is %s, and names the file", async (status, code) => {
    world.answer = () => ({ status, body: JSON.stringify({ message: "refused" }) });
    const wanted = { path: "/x/y", offset: 0, length: 1 };
    expect(await failureOf(inside.readFile(ann, "i-1", wanted, signal))).toMatchObject({ code, message: "/x/y: refused" });
    expect(await failureOf(inside.writeFile(ann, "i-1", { path: "/x/y", bytes: Buffer.alloc(1) }, signal))).toMatchObject({ code });
  });

  test("a path must name a file", async () => {
    expect(await failureOf(inside.writeFile(ann, "i-1", { path: "", bytes: Buffer.alloc(1) }, signal))).toBeInstanceOf(ServiceError);
    expect(world.asked).toEqual([]);
  });

  test("a folder's entries have their type and size", async () => {
    const entries = [
      { path: "/a/f", type: "FILE_TYPE_FILE", size: "12" },
      { path: "/a/d", type: "FILE_TYPE_DIRECTORY" },
      { path: "/a/s", type: "FILE_TYPE_SYMLINK", size: 1 },
      { path: "/a/p" },
    ];
    world.answer = () => ({ body: JSON.stringify({ entries }) });
    const listed = await inside.listFolder(ann, "i-1", { path: "/a", depth: 2 }, signal);
    expect(listed.map(({ path, type, size }) => `${path} ${type} ${size}`)).toEqual([
      "/a/f file 12",
      "/a/d folder 0",
      "/a/s link 1",
      "/a/p other 0",
    ]);
    expect(world.asked[0]?.body).toBe('{"path":"/a","depth":2}');
  });

  test("a list that is too long is refused", async () => {
    async function* long(): AsyncGenerator<Buffer> {
      for (let piece = 0; piece < 20; piece++) yield Buffer.alloc(1024 * 1024);
    }
    world.answer = () => ({ body: long() });
    expect(await failureOf(inside.listFolder(ann, "i-1", { path: "/", depth: 9 }, signal))).toMatchObject({ code: "too_large" });
  });
});

describe("a daemon that root of the sandbox has replaced", () => {
  beforeEach(() => scene.sandbox("i-1"));
  const frameOf = (text: string, flags = 0): Buffer => Buffer.from([flags, 0, 0, 0, text.length, ...Buffer.from(text)]);

  test.each(["no message", "null", "7"])("a command whose stream has %j has failed, and is no defect of ours", async (text) => {
    for (const flags of [0, 2]) {
      processes(started, frameOf(text, flags));
      expect(await failureOf(run())).toMatchObject({ code: "unavailable", message: "the sandbox's daemon sent an invalid message" });
    }
  });

  test.each(["no list", "null", '{"entries":7}', '{"entries":[null]}'])(
    "a folder that is listed as %j is no defect of ours",
    async (body) => {
      world.answer = () => ({ body });
      expect(await failureOf(inside.listFolder(ann, "i-1", { path: "/", depth: 1 }, signal))).toMatchObject({ code: "unavailable" });
    },
  );

  test("a message that comes byte by byte is put together once, not with each byte", async () => {
    const bytes = Buffer.concat([started, event({ data: { stdout: base64("x".repeat(30_000)) } }), event({ end: { exited: true } })]);
    processes(...Array.from(bytes, (byte) => Buffer.from([byte])));
    using joins = vi.spyOn(Buffer, "concat");
    expect((await run()).output).toEqual([`stdout ${"x".repeat(30_000)}`]);
    const joined = joins.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    expect(joined).toBeLessThan(100_000);
  });
});
