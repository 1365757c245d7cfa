import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { HttpCaller } from "./http-caller.ts";
import { McpBridge } from "./mcp-bridge.ts";

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: unknown;
}
type Answer = (asked: Asked, signal: AbortSignal | undefined) => Response | Promise<Response>;

/** A client at one end of the bridge, and a server that a test scripts at the other. */
class Scene {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly asked: Asked[] = [];
  readonly leaving = new AbortController();
  readonly running: Promise<void>;
  #text = "";

  constructor(answer: Answer, options: { readonly keep?: boolean; readonly readOnly?: boolean } = {}) {
    const send = async (url: string, { method = "", headers, body, signal }: RequestInit): Promise<Response> => {
      const parsed = typeof body === "string" ? (JSON.parse(body) as unknown) : undefined;
      const asked = { method, url: url.replace("http://box.test", ""), headers: new Headers(headers), body: parsed };
      this.asked.push(asked);
      return method === "DELETE" ? new Response(null, { status: 204 }) : await answer(asked, signal ?? undefined);
    };
    const http = new HttpCaller({ url: "http://box.test", apiKey: "key", fetch: send as typeof fetch });
    this.stdout.setEncoding("utf8").on("data", (text: string) => (this.#text += text));
    const { stdin, stdout, leaving } = this;
    this.running = new McpBridge(http, { stdin, stdout, signal: leaving.signal, keep: false, readOnly: false, ...options }).run();
  }

  say(...messages: readonly (object | string)[]): void {
    for (const one of messages) this.stdin.write(`${typeof one === "string" ? one : JSON.stringify(one)}\n`);
  }

  get heard(): readonly unknown[] {
    return this.#text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown);
  }

  async hears(count: number): Promise<readonly unknown[]> {
    await vi.waitUntil(() => this.heard.length >= count);
    return this.heard;
  }

  async end(): Promise<void> {
    this.stdin.end();
    await this.running;
  }
}

const message = (id: number, method: string, params: object = {}): object => ({ jsonrpc: "2.0", id, method, params });
const result = (id: number, value: object = {}): object => ({ jsonrpc: "2.0", id, result: value });
const answers = (value: object): Response => Response.json(value);

function events(...pieces: readonly string[]): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

test("each message goes to the server with the key and one session, and its answer comes back", async () => {
  const scene = new Scene(({ body }) => answers(result((body as { readonly id: number }).id)));
  scene.say(message(1, "tools/list"), "", message(2, "ping"));
  expect(await scene.hears(2)).toEqual(expect.arrayContaining([result(1), result(2)]));
  await scene.end();
  expect(scene.asked.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /mcp", "POST /mcp", "DELETE /mcp"]);
  expect(scene.asked[0]).toMatchObject({ body: message(1, "tools/list") });
  expect(scene.asked[0]?.headers.get("agentbox-api-key")).toBe("key");
  expect(scene.asked[0]?.headers.get("accept")).toBe("application/json, text/event-stream");
  const sessions = new Set(scene.asked.map(({ headers }) => headers.get("mcp-session-id")));
  expect([sessions.size, [...sessions][0]]).toEqual([1, expect.stringMatching(/^[\da-f-]{36}$/)]);
});

test("with keep the session is not ended, and the server is told both options", async () => {
  const scene = new Scene(() => answers(result(1)), { keep: true, readOnly: true });
  scene.say(message(1, "ping"));
  await scene.hears(1);
  await scene.end();
  expect(scene.asked.map(({ method, url }) => `${method} ${url}`)).toEqual(["POST /mcp?readOnly=true&keep=true"]);
});

test("the version that initialize agreed on is named in what follows", async () => {
  const scene = new Scene(({ body }) => answers(result((body as { readonly id: number }).id, { protocolVersion: "2025-06-18" })));
  scene.say(message(1, "initialize"));
  await scene.hears(1);
  scene.say(message(2, "tools/list"));
  await scene.hears(2);
  await scene.end();
  expect(scene.asked.slice(0, 2).map(({ headers }) => headers.get("mcp-protocol-version"))).toEqual([null, "2025-06-18"]);
  expect(scene.asked[1]?.headers.get("mcp-method")).toBeNull();
});

test.each([
  [{ name: "run_command" }, "run_command"],
  [{ uri: "sandbox://é" }, `=?base64?${Buffer.from("sandbox://é").toString("base64")}?=`],
  [{ name: "=?base64?eA==?=" }, `=?base64?${Buffer.from("=?base64?eA==?=").toString("base64")}?=`],
])("a message that names its version has headers of its own: %j", async (named, header) => {
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const scene = new Scene(() => answers(result(1)));
  scene.say(message(1, "tools/call", { _meta: meta, ...named }));
  await scene.hears(1);
  await scene.end();
  const { headers } = scene.asked[0] ?? {};
  expect(["mcp-protocol-version", "mcp-method", "mcp-name"].map((name) => headers?.get(name))).toEqual([
    "2026-07-28",
    "tools/call",
    header,
  ]);
});

test("a stream's messages come one to a line, however they were cut", async () => {
  const text = `: hello\n\nevent: message\nid: 1\ndata: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress" })}\r\n\r\ndata: {"jsonrpc":"2.0",\ndata: "id":1,"result":{"text":"é"}}\n\n`;
  for (const size of [1, 2, 7, text.length]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
    const scene = new Scene(() => events(...pieces));
    scene.say(message(1, "tools/call"));
    expect(await scene.hears(2)).toEqual([{ jsonrpc: "2.0", method: "notifications/progress" }, result(1, { text: "é" })]);
    await scene.end();
  }
});

test("a line that is no JSON is a parse error, and the next one is taken", async () => {
  const scene = new Scene(() => answers(result(1)));
  scene.say("{", message(1, "ping"));
  expect(await scene.hears(2)).toMatchObject([{ id: null, error: { code: -32_700 } }, result(1)]);
  await scene.end();
});

test("what is no answer of MCP is an error of that request, in the server's words", async () => {
  const problem = { type: "urn:agentbox:error:unauthenticated", status: 401, code: "unauthenticated", detail: "this API key is not valid" };
  const scene = new Scene(() => Response.json(problem, { status: 401 }));
  scene.say(message(1, "initialize"), { jsonrpc: "2.0", method: "notifications/initialized" });
  expect(await scene.hears(1)).toMatchObject([{ id: 1, error: { code: -32_603, message: expect.stringContaining("not valid") } }]);
  await scene.end();
});

test("a server that cannot be reached is an error of that request", async () => {
  const scene = new Scene(() => Promise.reject(new TypeError("fetch failed")));
  scene.say(message(1, "ping"));
  expect(await scene.hears(1)).toMatchObject([{ id: 1, error: { message: expect.stringContaining("cannot be reached") } }]);
  await scene.end();
});

/** Answers when it is given up, and never otherwise. */
function hanging(given: string[]): Answer {
  return ({ body }, signal) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => {
        given.push(`${(body as { readonly id: number }).id}`);
        reject(signal.reason as Error);
      });
    });
}

test("a request that the client cancels is given up, and only that one", async () => {
  const given: string[] = [];
  const scene = new Scene(hanging(given));
  scene.say(message(1, "tools/call"), message(2, "tools/call"));
  await expect.poll(() => scene.asked.length).toBe(2);
  scene.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
  await expect.poll(() => given).toEqual(["1"]);
  await scene.end();
  expect([given, scene.heard, scene.asked.at(-1)?.method]).toEqual([["1", "2"], [], "DELETE"]);
});

test("a signal to the program ends the session as the client's end does", async () => {
  const given: string[] = [];
  const scene = new Scene(hanging(given));
  scene.say(message(1, "tools/call"));
  await expect.poll(() => scene.asked.length).toBe(1);
  scene.leaving.abort();
  await scene.running;
  expect([given, scene.asked.at(-1)?.method]).toEqual([["1"], "DELETE"]);
});
