import { expect, test } from "vitest";
import type { ReadLogs } from "#kube/pod-access.ts";
import { jsonLines } from "#client/json-lines.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { SandboxApi } from "../../../../test/world/sandbox-api.ts";

const headers = { "x-api-key": "ann" };

/** What is given now, and then nothing until the reader's signal ends. */
function openLog(...pieces: string[]): (request: ReadLogs) => AsyncIterable<Buffer> {
  return async function* (request) {
    for (const piece of pieces) yield Buffer.from(piece);
    const { follow } = request;
    if (follow === undefined || follow.aborted) return;
    await new Promise((resolve) => follow.addEventListener("abort", resolve));
  };
}

async function collected(response: Response): Promise<unknown[]> {
  return Array.fromAsync(jsonLines(response.body));
}

test("a log is read from its end, as lines", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = () => [Buffer.from("one\ntw"), Buffer.from("o\n"), Buffer.from("thr")];
  const answer = await world.api.ask("GET /v1/sandboxes/i1/logs");
  expect([answer.status, answer.json]).toEqual([200, { lines: ["one", "two", "thr"], truncated: false }]);
  expect(world.scene.pods.read).toMatchObject([{ container: "main", tail: 1000 }]);
  await world.api.ask("GET /v1/sandboxes/i1/logs?tail=5&since=0&container=main");
  expect(world.scene.pods.read[1]).toMatchObject({ tail: 5, sinceMs: 0 });
});

test("a log that is larger than an answer is cut at its beginning", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const line = `${"x".repeat(1024 * 1024 - 1)}\n`;
  world.scene.pods.log = () => Array.from({ length: 9 }, () => Buffer.from(line));
  const { json } = await world.api.ask("GET /v1/sandboxes/i1/logs");
  expect(json).toMatchObject({ truncated: true });
  expect((json as { lines: unknown[] }).lines).toHaveLength(4);
});

test.for<[string, string]>([
  ["tail=10001", "query.tail"],
  ["tail=-1", "query.tail"],
  ["since=yesterday", "query.since"],
  ["container=", "query.container"],
  ["container=side", "query.container"],
  ["follow=true", "query.follow"],
])("a log with %s is refused, with the place, read or followed", async ([query, field]) => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  for (const path of ["logs", "logs/stream"]) {
    const answer = await world.api.ask(`GET /v1/sandboxes/i1/${path}?${query}`);
    expect([answer.status, answer.json]).toMatchObject([400, { code: "invalid_request", field }]);
  }
});

test("W13: following the log of an unknown sandbox is a 404 before any bytes, of an ended one a 409", async () => {
  await using world = await SandboxApi.open();
  await world.scene.record("old");
  const address = await world.api.listen();
  for (const [id, status, code] of [
    ["none", 404, "not_found"],
    ["old", 409, "conflict"],
  ] as const) {
    const response = await fetch(`${address}/v1/sandboxes/${id}/logs/stream`, { headers });
    expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/problem+json"]);
    expect(await response.json()).toMatchObject({ code });
  }
});

test("a followed log comes line by line, and ends with the sandbox", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = openLog("one\ntwo\nthr", "ee\n", "left");
  const response = await fetch(`${await world.api.listen()}/v1/sandboxes/i1/logs/stream?tail=0`, { headers });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  const lines = jsonLines(response.body);
  expect([(await lines.next()).value, (await lines.next()).value, (await lines.next()).value]).toEqual([
    { line: "one" },
    { line: "two" },
    { line: "three" },
  ]);
  await world.scene.end("i1");
  expect(await Array.fromAsync(lines)).toEqual([{ line: "left" }, { _meta: { reason: "ended", lines: 4 } }]);
});

test("a very long line comes in parts", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = () => [Buffer.from("x".repeat(100_000)), Buffer.from("\n")];
  const { text } = await world.api.ask("GET /v1/sandboxes/i1/logs/stream");
  const lines = text.split("\n").filter((line) => line !== "");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { line: "x".repeat(65_536), partial: true },
    { line: "x".repeat(34_464) },
    { _meta: { reason: "ended", lines: 1 } },
  ]);
});

test("a server that ends says so in the last line", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = openLog("one\n");
  const response = await fetch(`${await world.api.listen()}/v1/sandboxes/i1/logs/stream`, { headers });
  const all = collected(response);
  await eventually(() => expect(world.scene.pods.read).toHaveLength(1));
  await world.api.end();
  expect(await all).toEqual([{ line: "one" }, { _meta: { reason: "shutdown", lines: 1 } }]);
});

test("an error during the stream is in the last line; a defect is only in the log", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = async function* () {
    yield Buffer.from("one\n");
    throw new Error("the disk is on fire");
  };
  const { text } = await world.api.ask("GET /v1/sandboxes/i1/logs/stream");
  expect(text).toContain('"_meta":{"reason":"error","lines":1,"code":"internal"');
  expect(text).not.toContain("fire");
  expect(world.api.logged.lines).toMatchObject([{ level: "error", msg: "log stream failed", sandboxId: "i1" }]);
});

test("a followed log ends when the key that asked for it is revoked", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = openLog("one\n");
  const response = await fetch(`${await world.api.listen()}/v1/sandboxes/i1/logs/stream`, { headers });
  await jsonLines(response.body).next();
  world.api.endKey("k-ann");
  await eventually(() => expect(world.scene.pods.read[0]?.follow?.aborted).toBe(true));
});

test("the log is not read any more after the client disconnects", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  world.scene.pods.log = openLog("one\n");
  const gone = new AbortController();
  const url = `${await world.api.listen()}/v1/sandboxes/i1/logs/stream`;
  const response = await fetch(url, { headers, signal: gone.signal });
  await jsonLines(response.body).next();
  gone.abort();
  await eventually(() => expect(world.scene.pods.read[0]?.follow?.aborted).toBe(true));
  const counted = 'agentbox_http_requests_total{route="/v1/sandboxes/:sandboxId/logs/stream",method="GET",code="200"} 1';
  await eventually(async () => expect(await world.api.metrics()).toContain(counted));
  expect(world.api.logged.lines).toEqual([]);
});

test("of a log that the client does not take, only what fits into buffers is read", async () => {
  await using world = await SandboxApi.open();
  await world.scene.sandbox("i1");
  const piece = Buffer.from(`${"x".repeat(65_535)}\n`);
  const most = 10_000;
  let given = 0;
  world.scene.pods.log = async function* () {
    for (; given < most; given++) yield piece;
  };
  const gone = new AbortController();
  await fetch(`${await world.api.listen()}/v1/sandboxes/i1/logs/stream`, { headers, signal: gone.signal });
  let before = -1;
  await eventually(() => {
    const [now, last] = [given, before];
    before = given;
    expect([now > 0, now]).toEqual([true, last]);
  });
  expect(given).toBeLessThan(most / 2);
  gone.abort();
});
