import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asUser, collected, shell } from "./calls.ts";
import { callers, sandboxId, startDaemon, type Caller, type Callers, type Daemon } from "./daemon.ts";

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon({ envVars: { GIVEN: "by the sandbox" }, defaultUser: "root" });
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function codeOf(work: Promise<unknown>): Promise<Code | undefined> {
  return work.then(
    () => undefined,
    (error: { code: Code }) => error.code,
  );
}

describe.each([
  ["JSON", false],
  ["binary", true],
] as const)("commands over %s", (_, isBinary) => {
  let { process: calls } = {} as Callers;
  beforeAll(() => {
    calls = callers(daemon.url, isBinary).process;
  });

  test("a command's output and exit code arrive", async () => {
    const ran = await collected(calls.start(shell("echo out; echo err >&2; exit 3")));
    expect(ran).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      end: { exitCode: 3, exited: true, status: "exit status 3", error: "exit status 3" },
    });
    expect(ran.pid).toBeGreaterThan(1);
  });

  test("a command has the sandbox's environment, its user's, and the caller's", async () => {
    const request = {
      process: { ...shell("echo $GIVEN,$E2B_SANDBOX,$E2B_SANDBOX_ID,$HOME,$USER,$MINE,$AGENTBOX_POD_UID").process, envs: { MINE: "mine" } },
    };
    expect((await collected(calls.start(request))).stdout).toBe(`by the sandbox,true,${sandboxId},/root,root,mine,\n`);
  });

  test("a command runs as the user who is named, with that user's groups and home", async () => {
    const ran = await collected(
      calls.start(
        { process: { ...shell("id -un; id -u; umask; pwd; echo again > /dev/stdout").process, cwd: "/tmp" } },
        asUser("www-data"),
      ),
    );
    expect(ran.stdout).toBe("www-data\n33\n0022\n/tmp\nagain\n");
  });

  test("a signal that ends a command is told", async () => {
    const stream = calls.start(shell("echo ready; sleep 100"));
    const events: unknown[] = [];
    for await (const { event } of stream) {
      if (event.event.case === "data") await calls.sendSignal({ process: { selector: { case: "pid", value: pidOf(events) } }, signal: 15 });
      events.push(event.event);
    }
    expect(events.at(-1)).toMatchObject({ case: "end", value: { exitCode: -1, exited: false, error: "signal: terminated" } });
  });

  test("input reaches a command, by single messages and by a stream, until it is closed", async () => {
    const process = { selector: { case: "tag", value: `cat-${isBinary}` } };
    const running = collected(calls.start({ ...shell("cat"), tag: `cat-${isBinary}` }));
    await started(calls, `cat-${isBinary}`);
    await calls.sendInput({ process, input: { input: { case: "stdin", value: Buffer.from("one ") } } });
    async function* more() {
      yield { event: { case: "start", value: { process } } };
      for (const text of ["two ", "three"])
        yield { event: { case: "data", value: { input: { input: { case: "stdin", value: Buffer.from(text) } } } } };
    }
    await calls.streamInput(more());
    await calls.closeStdin({ process });
    expect((await running).stdout).toBe("one two three");
  });

  test("a terminal has the size it is given, and keeps up with changes", async () => {
    const tag = `pty-${isBinary}`;
    const process = { selector: { case: "tag", value: tag } };
    const running = collected(
      calls.start({ ...shell("stty size; read line; stty size; tty"), pty: { size: { cols: 81, rows: 25 } }, tag }),
    );
    await started(calls, tag);
    await calls.update({ process, pty: { size: { cols: 100, rows: 30 } } });
    await calls.sendInput({ process, input: { input: { case: "pty", value: Buffer.from("\n") } } });
    const { pty, end } = await running;
    expect(pty).toContain("30 100");
    expect(pty).toMatch(/\/dev\/pts\/\d+/);
    expect(end).toMatchObject({ exitCode: 0 });
  });

  test("a client of ours that comes back to a terminal gets what it wrote last, and others only what comes", async () => {
    const tag = `kept-${isBinary}`;
    const process = { selector: { case: "tag", value: tag } };
    const running = collected(calls.start({ ...shell("echo before; read line; echo after"), pty: { size: { cols: 80, rows: 24 } }, tag }));
    await started(calls, tag);
    await sleep(300);
    const ours = collected(calls.connect({ process }, { headers: { "agentbox-replay": "1" } }));
    const sdks = collected(calls.connect({ process }));
    const { processes } = await calls.list({}, { headers: { "agentbox-terminals-only": "1" } });
    expect(processes.map((one: { readonly tag?: string }) => one.tag)).toContain(tag);
    await sleep(100);
    await calls.sendInput({ process, input: { input: { case: "pty", value: Buffer.from("\n") } } });
    await running;
    expect((await ours).pty).toMatch(/^before[^]*after/);
    expect((await sdks).pty).toContain("after");
    expect((await sdks).pty).not.toContain("before");
  });

  test("failures have the codes that clients know", async () => {
    const nobody = { process: { selector: { case: "pid", value: 4_000_000 } } };
    expect(await codeOf(collected(calls.start({ process: { cmd: "/nowhere/program" } })))).toBe(Code.InvalidArgument);
    expect(await codeOf(collected(calls.start({ process: { cmd: "not-in-the-path" } })))).toBe(Code.InvalidArgument);
    expect(await codeOf(collected(calls.start({ process: { ...shell("true").process, cwd: "/nowhere" } })))).toBe(Code.InvalidArgument);
    expect(await codeOf(collected(calls.start({ process: {} })))).toBe(Code.InvalidArgument);
    expect(await codeOf(collected(calls.start(shell("true"), asUser("nobody-there"))))).toBe(Code.Unauthenticated);
    expect(await codeOf(collected(calls.connect(nobody)))).toBe(Code.NotFound);
    expect(await codeOf(calls.sendSignal({ ...nobody, signal: 9 }))).toBe(Code.NotFound);
    expect(await codeOf(calls.sendSignal({ signal: 9 }))).toBe(Code.Unimplemented);
  });
});

async function started(calls: Caller, tag: string): Promise<void> {
  await expect.poll(async () => (await calls.list({})).processes.some((own: { tag?: string }) => own.tag === tag)).toBe(true);
}

function pidOf(events: readonly unknown[]): number {
  return (events[0] as { value: { pid: number } }).value.pid;
}

function json() {
  return callers(daemon.url, false).process;
}

test("a command that runs beyond its time is killed, and its caller told", async () => {
  const seen: number[] = [];
  const work = (async () => {
    for await (const { event } of json().start(shell("sleep 100"), { timeoutMs: 300 }))
      if (event.event.case === "start") seen.push(event.event.value.pid);
  })();
  expect(await codeOf(work)).toBe(Code.DeadlineExceeded);
  await expect.poll(() => existsSync(`/proc/${seen[0]}`)).toBe(false);
});

test("a client that goes away does not end its command; another one joins and hears the rest", async () => {
  const leaving = new AbortController();
  let pid = 0;
  const first = (async () => {
    for await (const { event } of json().start(shell("echo early; sleep 0.4; echo late; exit 5"), { signal: leaving.signal })) {
      if (event.event.case === "start") pid = event.event.value.pid;
      if (event.event.case === "data") leaving.abort();
    }
  })();
  expect(await codeOf(first)).toBe(Code.Canceled);
  const process = { selector: { case: "pid", value: pid } };
  expect(await collected(json().connect({ process }))).toMatchObject({ pid, stdout: "late\n", end: { exitCode: 5 } });
  // Its end is kept for clients that connect late.
  expect(await collected(json().connect({ process }))).toMatchObject({ pid, stdout: "", end: { exitCode: 5 } });
});

test("a command whose output nobody reads goes on to its end", async () => {
  const leaving = new AbortController();
  let pid = 0;
  await codeOf(
    (async () => {
      for await (const { event } of json().start(shell("head -c 30000000 /dev/zero; exit 7"), { signal: leaving.signal })) {
        if (event.event.case === "start") pid = event.event.value.pid;
        leaving.abort();
      }
    })(),
  );
  const { end } = await collected(json().connect({ process: { selector: { case: "pid", value: pid } } }));
  expect(end).toMatchObject({ exitCode: 7 });
});

test("a slow reader slows only itself, and much output costs no memory", async () => {
  const tag = "much";
  const slow = new AbortController();
  const total = 300_000_000;
  let fast = 0;
  const process = { selector: { case: "tag", value: tag } };
  const starting = (async () => {
    for await (const { event } of json().start({ ...shell(`read go; head -c ${total} /dev/zero`), tag })) {
      if (event.event.case === "data") fast += event.event.value.output.value.length;
    }
  })();
  await started(json(), tag);
  const stuck = await fetch(`${daemon.url}/process.Process/Connect`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: framed({ process: { tag } }),
    signal: slow.signal,
  });
  expect(stuck.status).toBe(200);
  const before = privateKilobytes();
  await json().sendInput({ process, input: { input: { case: "stdin", value: Buffer.from("\n") } } });
  await starting;
  expect(fast).toBe(total);
  expect(privateKilobytes() - before).toBeLessThan(80_000);
  slow.abort();
});

test("a process without stdin or terminal says so", async () => {
  const start = json().start({ ...shell("sleep 2"), stdin: false, tag: "deaf" });
  const running = collected(start);
  const process = { selector: { case: "tag", value: "deaf" } };
  await started(json(), "deaf");
  expect(await codeOf(json().sendInput({ process, input: { input: { case: "stdin", value: Buffer.from("x") } } }))).toBe(Code.Internal);
  expect(await codeOf(json().sendInput({ process, input: { input: { case: "pty", value: Buffer.from("x") } } }))).toBe(Code.Internal);
  expect(await codeOf(json().update({ process, pty: { size: { cols: 1, rows: 1 } } }))).toBe(Code.Internal);
  await json().sendSignal({ process, signal: 9 });
  expect((await running).end).toMatchObject({ error: "signal: killed" });
});

test("a silent stream gives signs of life", async () => {
  const seen: string[] = [];
  for await (const { event } of json().start(shell("sleep 1.3"), { headers: { "keepalive-ping-interval": "1" } }))
    seen.push(event.event.case);
  expect(seen).toEqual(["start", "keepalive", "end"]);
});

test("a killed daemon breaks its streams: no end is told", async () => {
  const mine = await startDaemon({ defaultUser: "root" });
  const running = collected(callers(mine.url, false).process.start(shell("sleep 5")));
  const failed = running.then(
    () => "ended",
    () => "broken",
  );
  await expect.poll(async () => (await callers(mine.url, false).process.list({})).processes.length).toBe(1);
  await mine[Symbol.asyncDispose]();
  expect(await failed).toBe("broken");
  await sleep(0);
});

function framed(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

function privateKilobytes(): number {
  const child = readFileSync(`/proc/${daemon.process.pid}/task/${daemon.process.pid}/children`, "utf8").trim().split(" ")[0];
  return Number(/Private_Dirty:\s+(\d+)/.exec(readFileSync(`/proc/${child}/smaps_rollup`, "utf8"))?.[1]);
}
