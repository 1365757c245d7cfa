/** The doorman answers for a daemon while it waits; how it takes over and returns the ports. The programs are the real ones. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { header } from "#envd-protocol/arming.ts";
import { exchange, request } from "../fuzz/raw-exchange.ts";
import { freePort } from "../world/free-port.ts";
import { collected, shell } from "./calls.ts";
import { bundledDaemon, callers, type Daemon, sandboxId, startDaemon } from "./daemon.ts";

/** The processes under a daemon's init that are called so: the doorman's parent is gone, and its init has taken it over. */
function programsOf(daemon: Daemon, name: string): number[] {
  const below = (pid: number): number[] => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children === "" ? [] : children.split(" ").flatMap((child) => [Number(child), ...below(Number(child))]);
  };
  return below(daemon.process.pid ?? 0).filter((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() === name);
}

const hasDoorman = (daemon: Daemon): boolean => programsOf(daemon, "doorman").length > 0;
const portOf = (daemon: Daemon): number => Number(new URL(daemon.url).port);

async function armedFor(daemon: Daemon): Promise<string | null> {
  return (await fetch(`${daemon.url}/health`)).headers.get(header.sandboxId);
}

const values = { accessToken: "secret", envVars: { GIVEN: "1" } };
const body = Buffer.from(JSON.stringify(values));

/** As the doorman says it; the daemon would tell the time, too. */
const taken = "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";

async function order(daemon: Daemon, of: Uint8Array = body): Promise<Buffer> {
  return request("POST /init", Object.entries(await daemon.signed(of)), of);
}

async function variablesOf(daemon: Daemon): Promise<unknown> {
  return (await fetch(`${daemon.url}/envs`, { headers: { "x-access-token": "secret" } })).json();
}

test("while a sandbox waits its doorman says who it is, however often it is asked", async () => {
  await using daemon = await startDaemon("waiting");
  const answers = await Promise.all(Array.from({ length: 50 }, () => fetch(`${daemon.url}/health`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
  expect(answers[0]?.headers.get(header.armed)).toBe("no");
  expect(answers[0]?.headers.get(header.podUid)).toBe("pod-1");
  expect(hasDoorman(daemon)).toBe(true);
});

test("the doorman takes the order, and the daemon gets it with the next connection", async () => {
  await using daemon = await startDaemon("waiting");
  const { text } = await exchange({ port: portOf(daemon), bytes: [await order(daemon)], cut: false });
  expect(text).toBe(taken);
  expect(hasDoorman(daemon)).toBe(true);
  expect(await armedFor(daemon)).toBe(sandboxId);
  expect(await variablesOf(daemon)).toMatchObject({ GIVEN: "1" });
  await expect.poll(() => hasDoorman(daemon)).toBe(false);
});

test("nobody has to knock: the daemon has its order a moment later", async () => {
  await using daemon = await startDaemon("waiting");
  await daemon.init({});
  await expect.poll(() => hasDoorman(daemon)).toBe(false);
  expect(await armedFor(daemon)).toBe(sandboxId);
});

test.each([
  ["the same sandbox", sandboxId, values, 204],
  ["the same sandbox with other values", sandboxId, {}, 409],
  ["another one", "sandbox2", values, 409],
])("while an order rests, one for %s finds the daemon", async (_, id, first, status) => {
  await using daemon = await startDaemon("waiting");
  const second = await daemon.signed(body, id);
  await daemon.init(first);
  expect((await fetch(`${daemon.url}/init`, { method: "POST", headers: second, body })).status).toBe(status);
  expect(await armedFor(daemon)).toBe(sandboxId);
});

test("an order that comes in pieces is one", async () => {
  await using daemon = await startDaemon("waiting");
  const whole = await order(daemon);
  const pieces = [0, 3, 60, whole.length - body.length - 2, whole.length - 1].map((from, at, all) => whole.subarray(from, all[at + 1]));
  const { statuses } = await exchange({ port: portOf(daemon), bytes: pieces, cut: false });
  expect(statuses).toEqual([204]);
  expect(await variablesOf(daemon)).toMatchObject({ GIVEN: "1" });
});

describe("what the doorman does not know is answered by the daemon, as all that follows:", () => {
  const signature = Buffer.alloc(64).toString("base64");
  const unsigned = [
    [header.sandboxId, "s1"],
    [header.signature, signature],
  ] as const;

  test.each<[string, (daemon: Daemon) => Promise<Buffer>, number, RegExp]>([
    ["an order that nobody signed", async () => request("POST /init", unsigned, body), 401, /the signature is not the control plane's/],
    ["an order without its headers", async () => request("POST /init", [], body), 401, /carries the headers/],
    ["a command", async () => request("POST /process.Process/Start", [], body), 503, /waits to be claimed/],
    ["a wrong method", async () => request("GET /init", []), 405, /use POST/],
    ["another HTTP", async () => Buffer.from("GET /health HTTP/1.0\r\n\r\n"), 204, /agentbox-armed: no/],
    [
      "an order of another body",
      async (daemon) => Buffer.concat([(await order(daemon)).subarray(0, -1), Buffer.from(" ")]),
      401,
      /signature/,
    ],
    ["one too long", async () => request("POST /init", unsigned, Buffer.alloc(1024 * 1024 + 1, "x")), 413, /at most/],
    ["no HTTP", async () => Buffer.from("hello\r\n\r\n"), 400, /Bad Request/],
  ])("%s", async (_, bytes, status, words) => {
    await using daemon = await startDaemon("waiting");
    const { text, statuses } = await exchange({ port: portOf(daemon), bytes: [await bytes(daemon)], cut: false });
    expect(statuses).toEqual([status]);
    expect(text).toMatch(words);
    await expect.poll(() => hasDoorman(daemon)).toBe(false);
    expect(await armedFor(daemon)).toBeNull();
    await daemon.init({});
    expect(await armedFor(daemon)).toBe(sandboxId);
  });

  test("a good order that is longer than the doorman keeps", async () => {
    await using daemon = await startDaemon("waiting");
    const large = Buffer.from(JSON.stringify({ accessToken: "secret", envVars: { GIVEN: "1".repeat(100_000) } }));
    const { statuses } = await exchange({ port: portOf(daemon), bytes: [await order(daemon, large)], cut: false });
    expect(statuses).toEqual([204]);
    expect(await variablesOf(daemon)).toMatchObject({ GIVEN: "1".repeat(100_000) });
  });

  test("a good order in chunks", async () => {
    await using daemon = await startDaemon("waiting");
    const parts = new ReadableStream({
      start: (controller) => {
        controller.enqueue(body);
        controller.close();
      },
    });
    const answer = await fetch(`${daemon.url}/init`, { method: "POST", headers: await daemon.signed(body), body: parts, duplex: "half" });
    expect(answer.status).toBe(204);
    expect(await variablesOf(daemon)).toMatchObject({ GIVEN: "1" });
  });
});

test("who connects and says nothing keeps nobody from the doorman, and is heard when he speaks", async () => {
  await using daemon = await startDaemon("waiting");
  const silent = connect(portOf(daemon), "127.0.0.1");
  await once(silent, "connect");
  const { text } = await exchange({ port: portOf(daemon), bytes: [await order(daemon)], cut: false });
  expect(text).toBe(taken);
  silent.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(String(await once(silent, "data"))).toContain(`${header.sandboxId}: ${sandboxId}`);
});

test("who does not finish what he says is the daemon's, as whoever waits behind him", async () => {
  await using daemon = await startDaemon("waiting");
  const whole = await order(daemon);
  const slow = connect(portOf(daemon), "127.0.0.1");
  slow.write(whole.subarray(0, 20));
  await once(slow, "connect");
  await daemon.init(values);
  expect(await armedFor(daemon)).toBe(sandboxId);
  slow.write(whole.subarray(20));
  expect(String(await once(slow, "data"))).toMatch(/^HTTP\/1\.1 204 /);
});

test.each([
  ["while it waits", async () => {}],
  ["while it has an order", (daemon: Daemon) => daemon.init({})],
])(
  "a daemon whose doorman is killed %s exits with a message, because a caller may have been told that its sandbox is armed",
  async (_, before) => {
    let said = "";
    await using daemon = await startDaemon("waiting", {}, { onError: (text) => (said += text) });
    await before(daemon);
    const ended = once(daemon.process, "exit");
    for (const pid of programsOf(daemon, "doorman")) process.kill(pid, "SIGKILL");
    expect(await ended).toEqual([1, null]);
    expect(said).toContain("the doorman ended without a word");
  },
);

test("a doorman whose daemon ends is gone as well", async () => {
  const daemon = await startDaemon("waiting");
  const [doorman = 0] = programsOf(daemon, "doorman");
  await daemon[Symbol.asyncDispose]();
  await expect.poll(() => readdirSync("/proc").includes(String(doorman))).toBe(false);
});

test("where a daemon ends while somebody is brought to it, nobody holds its port", async () => {
  const daemon = await startDaemon("waiting");
  const open = connect(portOf(daemon), "127.0.0.1");
  open.write("POST /init HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  await expect.poll(() => programsOf(daemon, "doorman").length).toBe(2);
  await daemon[Symbol.asyncDispose]();
  const refused = once(connect(portOf(daemon), "127.0.0.1"), "connect");
  await expect(refused).rejects.toThrow("ECONNREFUSED");
  open.destroy();
});

test("what a sandbox runs has neither the doors nor the way to the doorman", async () => {
  await using daemon = await startDaemon({ defaultUser: "root" }, { AGENTBOX_INTERPRETER_PORT: String(await freePort()) });
  const shown = "ls -l /proc/self/fd | grep -c socket; env | grep -c AGENTBOX";
  const ran = await collected(callers(daemon.url, false).process.start(shell(shown)));
  expect(ran).toMatchObject({ stdout: "0\n0\n" });
});

test("doors that an image or a template says it holds are none", async () => {
  await using daemon = await startDaemon("waiting", { AGENTBOX_DOORS: "1,2,3" });
  expect(hasDoorman(daemon)).toBe(true);
  await daemon.init({});
  expect(await armedFor(daemon)).toBe(sandboxId);
});

describe("the port of the code interpreter", () => {
  test("is the daemon's before anybody has claimed the sandbox", async () => {
    const port = await freePort();
    await using daemon = await startDaemon("waiting", { AGENTBOX_INTERPRETER_PORT: String(port) });
    const answer = await fetch(`http://127.0.0.1:${port}/health`);
    expect([answer.status, await answer.text()]).toEqual([503, "this sandbox waits to be claimed"]);
    await daemon.init({});
    expect(await armedFor(daemon)).toBe(sandboxId);
  });

  test("is answered by an armed daemon as soon as somebody knocks there", async () => {
    const port = await freePort();
    await using daemon = await startDaemon("waiting", { AGENTBOX_INTERPRETER_PORT: String(port) });
    await daemon.init({});
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
  });

  test("that is the daemon's own stays the daemon's", async () => {
    let said = "";
    const port = String(await freePort());
    await using daemon = await startDaemon(
      "waiting",
      { AGENTBOX_INTERPRETER_PORT: port, AGENTBOX_ENVD_PORT: port },
      { onError: (text) => (said += text) },
    );
    await daemon.init({});
    expect(await armedFor(daemon)).toBe(sandboxId);
    expect(said).toContain("no code interpreter: listen EADDRINUSE");
  });

  test("that another program has does not keep the daemon from its own", async () => {
    let said = "";
    await using other = await startDaemon("waiting");
    await using daemon = await startDaemon(
      "waiting",
      { AGENTBOX_INTERPRETER_PORT: String(portOf(other)) },
      { onError: (text) => (said += text) },
    );
    await daemon.init({});
    expect(await armedFor(daemon)).toBe(sandboxId);
    expect(said).toContain("no code interpreter: listen EADDRINUSE");
  });
});

test("a daemon that runs a program of its own is not waited for: it answers from the start", async () => {
  await using daemon = await startDaemon("waiting", {}, { within: (argv) => [...argv, "/bin/true"] });
  await expect.poll(() => hasDoorman(daemon)).toBe(false);
  await daemon.init({});
  expect(await armedFor(daemon)).toBe(sandboxId);
});

test("where the daemon's own port is taken it is the daemon that says so", async () => {
  await using other = await startDaemon("waiting");
  const home = await bundledDaemon();
  const env = { AGENTBOX_POD_UID: "pod-2", AGENTBOX_PUBLIC_KEY: "any", AGENTBOX_ENVD_PORT: String(portOf(other)) };
  const daemon = spawn(join(home, "helper"), ["doorman", process.execPath, join(home, "envd.cjs")], { env });
  let said = "";
  daemon.stderr.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
  expect(await once(daemon, "close")).toEqual([1, null]);
  expect(said).toContain("EADDRINUSE");
});
