/** The transport of MCP over real services; only daemons, and the end of sandboxes, are this test's own. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { Registry } from "prom-client";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { mcpLimits } from "#mcp/limits.ts";
import { sessionMetadataKey } from "#mcp/session-mark.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Caller } from "#services/caller.ts";
import { openSandboxInside } from "#services/inside/sandbox-inside.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { viewSandbox } from "#services/reading/get-sandbox.ts";
import type { CreateSandbox, SandboxService } from "#services/sandbox-service.ts";
import { only } from "../../../test/world/native-api.ts";
import { ann, bob, eve, ServiceScene } from "../../../test/world/service-scene.ts";
import { apiServer } from "../http/api-server.ts";
import { mcpFace } from "./mcp-face.ts";

const callers: Readonly<Record<string, Caller>> = { ann, bob, eve };
const json = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const session = "session-1234";

let scene: ServiceScene;
let app: FastifyInstance;
let ended: string[];
let created: CreateSandbox[];
let daemonAsked: string[];

beforeEach(async () => {
  scene = await ServiceScene.open();
  [ended, created, daemonAsked] = [[], [], []];
  const { clock, log } = scene;
  app = await apiServer({
    keys: { authenticate: (key) => callers[key], whenEnded: () => () => {} },
    clock,
    log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    limits: { ofTeam: (_, name) => (name === "connections" ? 5 : undefined) },
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
    faces: [
      mcpFace({ sandboxes: sandboxes(), inside: inside(), domain: "box.test", hosts: ["localhost", "[::1]"], version: "1", clock, log }),
    ],
  });
});
afterEach(async () => {
  await app.close();
  await scene[Symbol.asyncDispose]();
});

function sandboxes(): SandboxService {
  const { client, cache, history, pods, live, activity, clock, log } = scene;
  const claims = only({
    create: async (caller, command) => {
      created.push(command);
      return { sandbox: await viewSandbox(scene, caller, "i-1"), accessToken: "t" };
    },
    end: async (caller, id) => {
      await viewSandbox(scene, caller, id);
      ended.push(id);
    },
  });
  return openSandboxService({ client, cache, history, pods, live, activity, clock, log, claims, abilities: embeddedAbilities });
}

function inside() {
  const { client, cache, history, activity, clock } = scene;
  return openSandboxInside({
    client,
    cache,
    history,
    activity,
    clock,
    tokens: { accessTokenOf: (id) => `token-of-${id}` },
    daemons: { health: () => Promise.reject(new Error("not asked")) },
    openStream: async (_at, { path }) => {
      daemonAsked.push(path);
      return { status: 200, headers: { "content-length": "2" }, body: one(Buffer.from("hi")) };
    },
  });
}

async function* one(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

interface Sent {
  readonly by?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object;
}

async function post({ by = "ann", url = "/mcp", headers = {}, body = message("ping") }: Sent = {}): Promise<LightMyRequestResponse> {
  const payload = typeof body === "string" ? body : JSON.stringify(body);
  const key = by === "" ? {} : { authorization: `Bearer ${by}` };
  return await app.inject({ method: "POST", url, headers: { host: "localhost:8099", ...json, ...key, ...headers }, payload });
}

async function end(by: string, headers: Readonly<Record<string, string>>): Promise<LightMyRequestResponse> {
  return await app.inject({ method: "DELETE", url: "/mcp", headers: { host: "localhost:8099", "x-api-key": by, ...headers } });
}

function message(method: string, params: object = {}): object {
  return { jsonrpc: "2.0", id: 1, method, params };
}

function initialize(protocolVersion = "2025-06-18"): object {
  return message("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } });
}

interface Answer {
  readonly result: Readonly<Record<string, unknown>> & {
    readonly content: readonly { readonly text: string }[];
    readonly isError?: boolean;
  };
}

/** Of an answer that is JSON, or a stream of one event. */
function answerIn({ body }: LightMyRequestResponse): Answer["result"] {
  return (JSON.parse(/^data: ?(\{.*)$/m.exec(body)?.[1] ?? body) as Answer).result;
}

async function call(name: string, args: object, sent: Sent = {}): Promise<Answer["result"]> {
  return answerIn(await post({ ...sent, body: message("tools/call", { name, arguments: args }) }));
}

test.each(["2025-03-26", "2025-06-18", "2025-11-25"])(
  "a client of version %s is answered in that version, and gets a session",
  async (version) => {
    const answer = await post({ body: initialize(version) });
    expect(answerIn(answer)).toMatchObject({ protocolVersion: version, serverInfo: { name: "agentbox", version: "1" } });
    expect(answer.headers["mcp-session-id"]).toMatch(/^[\da-f-]{36}$/);
    expect((await post({ body: initialize(version), headers: { "mcp-session-id": session } })).headers["mcp-session-id"]).toBe(session);
    const tools = answerIn(await post({ body: message("tools/list"), headers: { "mcp-protocol-version": version } }))["tools"];
    expect(tools).toHaveLength(14);
  },
);

test("a request without a valid key is refused before its body is read", async () => {
  expect((await post({ by: "" })).statusCode).toBe(401);
  expect((await post({ by: "mallory", body: "{" })).statusCode).toBe(401);
  expect((await end("mallory", { "mcp-session-id": session })).statusCode).toBe(401);
  expect((await app.inject({ method: "GET", url: "/mcp", headers: { host: "localhost" } })).statusCode).toBe(401);
});

test.each(["evil.test", "evil.test:8099", "localhost.evil.test", "127.0.0.1.evil.test:8099", "localhost:8099@evil.test"])(
  "a request to the host name %s is refused, because a web page may point its own name at this machine",
  async (host) => {
    const answer = await post({ headers: { host } });
    expect([answer.statusCode, answer.json()]).toEqual([403, expect.objectContaining({ field: "header.host" })]);
    expect((await end("ann", { host, "mcp-session-id": session })).statusCode).toBe(403);
  },
);

test.each(["http://evil.test", "http://localhost", "http://localhost:3000", "null", "", "no url", "http://localhost:8099.evil.test"])(
  "a request of a page of %j is refused",
  async (origin) => {
    const answer = await post({ headers: { origin } });
    expect([answer.statusCode, answer.json()]).toEqual([403, expect.objectContaining({ field: "header.origin" })]);
    expect((await end("ann", { origin, "mcp-session-id": session })).statusCode).toBe(403);
    expect(ended).toEqual([]);
  },
);

test("the server's own names are taken, with any port, and so are its own pages", async () => {
  for (const host of ["localhost", "LOCALHOST:8099", "[::1]:8099"]) {
    expect((await post({ headers: { host }, body: initialize() })).statusCode).toBe(200);
  }
  expect((await post({ headers: { origin: "http://localhost:8099" }, body: initialize() })).statusCode).toBe(200);
});

test("a body may be as long as the largest upload needs, and not longer", async () => {
  const upload = Buffer.alloc(mcpLimits.upload, 1).toString("base64");
  await scene.sandbox("i-1");
  expect((await call("upload_file", { sandboxId: "i-1", path: "a", base64: upload })).isError).toBeUndefined();
  expect(daemonAsked).toEqual(["/files?path=a"]);
  const tooLong = await post({ body: JSON.stringify(message("ping", { text: "x".repeat(mcpLimits.requestBody) })) });
  expect([tooLong.statusCode, daemonAsked.length]).toEqual([413, 1]);
});

test("each message of a list counts against what a team may have open, as it would by itself", async () => {
  const list = (count: number): readonly object[] => Array.from({ length: count }, (_, id) => ({ ...message("ping"), id }));
  const headers = { "mcp-protocol-version": "2025-03-26" };
  expect((await post({ body: list(5), headers })).statusCode).toBe(200);
  const refused = await post({ body: ` \n${JSON.stringify(list(6))}`, headers });
  expect(refused.statusCode).toBe(429);
  expect(refused.json()).toMatchObject({ code: "limit_reached", detail: expect.stringContaining("limit connections") });
  expect((await post({ body: list(5), headers })).statusCode, "they count until they are answered").toBe(200);
  // An empty one takes nothing, and gives nothing.
  await post({ body: list(0), headers });
  expect((await post({ body: list(6), headers })).statusCode).toBe(429);
});

test("a list of more messages than are answered in one go is refused, before any is looked at", async () => {
  const list = Array.from({ length: mcpLimits.messages + 1 }, (_, id) => ({ ...message("ping"), id }));
  const refused = await post({ body: JSON.stringify(list), headers: { "mcp-protocol-version": "2025-03-26" } });
  expect([refused.statusCode, refused.json()]).toEqual([400, expect.objectContaining({ code: "invalid_request" })]);
  expect(refused.json()).toMatchObject({ detail: expect.stringContaining("at most 20 messages") });
});

test("a body that is no JSON is answered as the protocol has it", async () => {
  const answer = await post({ body: "{" });
  expect([answer.statusCode, answer.json()]).toEqual([400, expect.objectContaining({ error: expect.objectContaining({ code: -32_700 }) })]);
});

test.each(["short", "x".repeat(65), "with space 1", "a/../../b-c-d", "sessión-1234"])("%j is no session", async (id) => {
  for (const answer of [await post({ headers: { "mcp-session-id": id } }), await end("ann", { "mcp-session-id": id })]) {
    expect([answer.statusCode, answer.json()]).toEqual([400, expect.objectContaining({ field: "header.mcp-session-id" })]);
  }
});

test("options of the URL are true or false, and nothing else", async () => {
  expect((await post({ url: "/mcp?readOnly=maybe" })).json()).toMatchObject({ status: 400, field: "query.readOnly" });
  expect((await post({ url: "/mcp?keep=1" })).json()).toMatchObject({ status: 400, field: "query.keep" });
  const tools = async (url: string) => answerIn(await post({ url, body: message("tools/list") }))["tools"] as readonly { name: string }[];
  expect((await tools("/mcp?readOnly=false")).length).toBe(14);
  expect((await tools("/mcp?readOnly=true")).map(({ name }) => name)).not.toContain("run_command");
  const refused = await post({
    url: "/mcp?readOnly=true",
    body: message("tools/call", { name: "end_sandbox", arguments: { sandboxId: "i-1" } }),
  });
  expect(refused.body).toContain("end_sandbox");
  expect(ended).toEqual([]);
});

test("what a session makes is marked with it, unless it is kept", async () => {
  await scene.sandbox("i-1");
  const headers = { "mcp-session-id": session };
  await call("create_sandbox", {}, { headers });
  await call("create_sandbox", { keep: true }, { headers });
  await call("create_sandbox", {}, { headers, url: "/mcp?keep=true" });
  expect(created.map(({ metadata }) => metadata)).toEqual([{ [sessionMetadataKey]: session }, {}, {}]);
  expect(created.map(({ idleTimeoutMs }) => idleTimeoutMs)).toEqual([mcpLimits.idle * 1000, undefined, undefined]);
});

async function made(id: string, by: Caller, of: string | undefined): Promise<void> {
  const metadata = of === undefined ? {} : { [sessionMetadataKey]: of };
  const annotations = { [annotationKeys.sandboxMetadata]: JSON.stringify(metadata) };
  await scene.sandbox(id, { team: by.team, user: by.user ?? "", annotations });
}

test("DELETE ends the sandboxes of its session, but no others of the caller and none of callers that use the same session name", async () => {
  await made("i-1", ann, session);
  await made("i-2", ann, session);
  await made("i-other", ann, "session-5678");
  await made("i-none", ann, undefined);
  await made("i-eve", eve, session);
  await made("i-bob", bob, session);
  expect((await end("ann", { "mcp-session-id": session })).statusCode).toBe(204);
  expect(ended.toSorted()).toEqual(["i-1", "i-2"]);
  ended.length = 0;
  expect((await end("eve", { "mcp-session-id": session })).statusCode).toBe(204);
  expect(ended).toEqual(["i-eve"]);
});

test("DELETE has to say which session", async () => {
  await made("i-none", ann, undefined);
  expect((await end("ann", {})).json()).toMatchObject({ status: 400, field: "header.mcp-session-id" });
  expect(ended).toEqual([]);
});

test("another tenant's sandbox does not exist, for any tool or resource", async () => {
  await scene.sandbox("i-1");
  const calls: readonly [string, object][] = [
    ["run_command", { command: "true" }],
    ["run_command", { command: "true", background: true }],
    ["run_code", { code: "1" }],
    ["read_file", { path: "a" }],
    ["write_file", { path: "a", text: "" }],
    ["edit_file", { path: "a", edits: [{ oldText: "a", newText: "b" }] }],
    ["upload_file", { path: "a", base64: "" }],
    ["download_file", { path: "a" }],
    ["list_files", { path: "." }],
    ["search_files", { pattern: "a" }],
    ["get_port_url", { port: 80 }],
    ["sandbox_logs", {}],
    ["end_sandbox", {}],
  ];
  for (const [name, args] of calls) {
    const { isError, content } = await call(name, { sandboxId: "i-1", ...args }, { by: "eve" });
    expect([name, isError, content[0]?.text]).toEqual([name, true, 'there is no sandbox "i-1"']);
  }
  for (const uri of ["sandbox://i-1/logs", "sandbox://i-1/files/a"]) {
    const answer = await post({ by: "eve", body: message("resources/read", { uri }) });
    expect(answer.body).toContain('there is no sandbox \\"i-1\\"');
  }
  expect(answerIn(await post({ by: "eve", body: message("resources/list") }))["resources"]).toEqual([]);
  expect((await call("list_sandboxes", {}, { by: "eve" })).content[0]?.text).not.toContain("i-1");
  expect([daemonAsked, ended]).toEqual([[], []]);
  expect((await call("read_file", { sandboxId: "i-1", path: "a" })).content[0]?.text).toBe("hi");
});

test("a team's subscriptions are bounded by what it may have open, and leave others theirs", async () => {
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const version = "2026-07-28";
  const meta = { "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {} };
  const body = JSON.stringify(message("subscriptions/listen", { notifications: { toolsListChanged: true }, _meta: meta }));
  const gone = new AbortController();
  const subscribe = (by: string, signal = gone.signal): Promise<Response> => {
    const headers = { ...json, authorization: `Bearer ${by}`, "mcp-protocol-version": version, "mcp-method": "subscriptions/listen" };
    return fetch(`http://localhost:${port}/mcp`, { method: "POST", headers, body, signal });
  };
  const first = new AbortController();
  const open = [await subscribe("ann", first.signal), ...(await Promise.all([1, 2, 3, 4].map(() => subscribe("bob"))))];
  expect(open.map(({ status, headers }) => [status, headers.get("content-type")])).toEqual(open.map(() => [200, "text/event-stream"]));
  const refused = await subscribe("bob");
  expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ code: "limit_reached" })]);
  // A subscription that the protocol's library refuses is answered with 200, too, and as JSON.
  expect((await subscribe("eve")).headers.get("content-type")).toBe("text/event-stream");
  first.abort();
  await expect.poll(async () => (await subscribe("ann")).status).toBe(200);
  gone.abort();
});
