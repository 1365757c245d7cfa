/** Every tool of MCP in real containers, by the SDK's client: over HTTP at /mcp, and over `agentbox mcp` as a client starts it. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { UpProcess } from "../world/up-process.ts";

let up: UpProcess;
let access: { readonly url: string; readonly apiKey: string };
let api: AgentBoxClient;

beforeAll(async () => {
  up = await UpProcess.onNewFolder(["base", "code-interpreter-v1"]);
  await up.start();
  access = await up.access();
  api = new AgentBoxClient(access);
}, 120_000);
afterAll(() => up[Symbol.asyncDispose](), 60_000);

type Way = (key: string, query?: string) => Transport;

const overHttp: Way = (key, query = "") =>
  new StreamableHTTPClientTransport(new URL(`${access.url}/mcp${query}`), { requestInit: { headers: { authorization: `Bearer ${key}` } } });

const overStdio: Way = (key, query = "") =>
  new StdioClientTransport({
    command: join(import.meta.dirname, "../../bin/agentbox"),
    args: ["mcp", ...(query === "" ? [] : ["--read-only"])],
    env: { PATH: process.env["PATH"] ?? "", HOME: up.home, AGENTBOX_API_URL: access.url, AGENTBOX_API_KEY: key },
  });

async function connected(transport: Transport, version: string): Promise<Client> {
  const mode = version === sessionless ? { pin: version } : "legacy";
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  expect(client.getNegotiatedProtocolVersion()).toBe(version);
  return client;
}

/** The version since which the protocol has no sessions over HTTP. */
const sessionless = "2026-07-28";

interface Called {
  readonly text: string;
  readonly isError: boolean;
  readonly json: Readonly<Record<string, unknown>>;
  readonly content: readonly Readonly<Record<string, unknown>>[];
}

async function call(client: Client, name: string, args: Readonly<Record<string, unknown>>): Promise<Called> {
  const answer = await client.callTool({ name, arguments: args });
  const content = answer.content as unknown as Called["content"];
  const text = content.flatMap((part) => (part["type"] === "text" ? [String(part["text"])] : [])).join("\n");
  return { text, content, isError: answer.isError === true, json: (answer.structuredContent ?? {}) as Called["json"] };
}

async function statusOf(id: string): Promise<string> {
  return (await api.sandboxes.get(id)).status;
}

describe.each([
  ["HTTP", "2025-11-25", overHttp],
  ["HTTP", sessionless, overHttp],
  ["stdio", "2025-11-25", overStdio],
  ["stdio", sessionless, overStdio],
] as const)("over %s, version %s", (_, version, way) => {
  test("every tool does its work in a sandbox that ends with its session", async () => {
    const client = await connected(way(access.apiKey), version);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names.length).toBe(14);
    const made = await call(client, "create_sandbox", { pool: "code-interpreter-v1", envVars: { GREETING: "hi" } });
    const sandboxId = String(made.json["sandboxId"]);
    expect([made.isError, made.json["status"]]).toEqual([false, "Running"]);
    const run = (args: object) => call(client, "run_command", { sandboxId, ...args });

    expect((await run({ command: "echo $GREETING; cat; pwd", stdin: "in\n" })).text).toContain("exit code 0\nstdout:\nhi\nin\n");
    const input = `${"x".repeat(1023)}\n`.repeat(1000);
    expect((await run({ command: "cat | tee /dev/stderr | wc -c", stdin: input })).text).toContain("1024000");
    const failed = await run({ command: "echo no >&2; exit 3" });
    expect([failed.isError, failed.text]).toEqual([true, "exit code 3\nstderr:\nno\n"]);
    expect((await run({ command: "sleep 30", timeoutSeconds: 1 })).text).toContain("killed after 1 s");
    const long = await run({ command: "seq 1 20000" });
    const file = /are in (\S+),/.exec(long.text)?.[1] ?? "";
    expect((await call(client, "read_file", { sandboxId, path: file, offset: 0, limit: 4 })).text).toContain("1\n2\n\n[");
    const started = await run({ command: "echo out; sleep 0.2; exit 7", background: true });
    const log = /output: (\S+)/.exec(started.text)?.[1] ?? "";
    expect((await run({ command: `until test -e ${log}.exit; do sleep 0.05; done; cat ${log} ${log}.exit` })).text).toContain("out\n7");

    expect((await call(client, "run_code", { sandboxId, code: "x = 20" })).isError).toBe(false);
    expect((await call(client, "run_code", { sandboxId, code: "x + 1" })).text).toContain("21");
    expect((await call(client, "run_code", { sandboxId, code: "1/0" })).isError).toBe(true);

    await call(client, "write_file", { sandboxId, path: "notes/a.txt", text: "one\ntwo é\n" });
    expect((await call(client, "read_file", { sandboxId, path: "notes/a.txt" })).text).toBe("one\ntwo é\n");
    const edits = [{ oldText: "two", newText: "three" }];
    expect((await call(client, "edit_file", { sandboxId, path: "notes/a.txt", edits })).text).toContain("replaced 1 place");
    expect((await call(client, "edit_file", { sandboxId, path: "notes/a.txt", edits })).text).toContain("does not occur");
    expect(JSON.stringify((await call(client, "list_files", { sandboxId, path: "notes" })).json)).toContain("notes/a.txt");
    expect((await call(client, "search_files", { sandboxId, pattern: "thr.e", path: "notes" })).text).toContain("notes/a.txt:2:three é");
    expect((await call(client, "search_files", { sandboxId, pattern: "*.txt", in: "name", path: "notes" })).text).toContain("notes/a.txt");
    const base64 = Buffer.from([0, 255, 1]).toString("base64");
    await call(client, "upload_file", { sandboxId, path: "notes/b.bin", base64 });
    expect((await call(client, "read_file", { sandboxId, path: "notes/b.bin" })).text).toContain("download_file");
    const { content } = await call(client, "download_file", { sandboxId, path: "notes/b.bin" });
    expect(content[1]).toMatchObject({ resource: { blob: base64 } });
    const missing = await call(client, "read_file", { sandboxId, path: "/nowhere" });
    expect([missing.isError, missing.text]).toEqual([true, expect.stringContaining("/nowhere")]);

    expect((await call(client, "get_port_url", { sandboxId, port: 3000 })).json["url"]).toMatch(`https://3000-${sandboxId}.`);
    expect((await call(client, "sandbox_logs", { sandboxId })).isError).toBe(false);
    expect((await call(client, "list_sandboxes", {})).text).toContain(sandboxId);
    const resource = await client.readResource({ uri: `sandbox://${sandboxId}/files/notes/a.txt` });
    expect(resource.contents[0]).toMatchObject({ text: "one\nthree é\n" });
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toContain(`sandbox://${sandboxId}/logs`);

    // Over stdio the client's end is the session's; over HTTP a client has to say it, and there may be no session.
    const { transport } = client;
    if (version === sessionless && way === overHttp) await call(client, "end_sandbox", { sandboxId });
    else if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
    await client.close();
    await expect.poll(() => statusOf(sandboxId), { timeout: 15_000 }).not.toBe("Running");
  }, 90_000);

  test("another tenant's sandbox does not exist, and read-only mode offers nothing that changes anything", async () => {
    const { key } = await api.keys.create({ role: "tenant", team: "blue", name: `blue-${randomUUID().slice(0, 8)}` });
    const owner = await connected(way(access.apiKey), version);
    const sandboxId = String((await call(owner, "create_sandbox", { keep: true })).json["sandboxId"]);
    const stranger = await connected(way(key), version);
    for (const [name, args] of [
      ["run_command", { command: "true" }],
      ["read_file", { path: "/etc/hostname" }],
      ["write_file", { path: "x", text: "" }],
      ["get_port_url", { port: 80 }],
      ["sandbox_logs", {}],
      ["end_sandbox", {}],
    ] as const) {
      const answer = await call(stranger, name, { sandboxId, ...args });
      expect([name, answer.isError, answer.text]).toEqual([name, true, `there is no sandbox "${sandboxId}"`]);
    }
    await stranger.close();
    await owner.close();
    const reader = await connected(way(access.apiKey, "?readOnly=true"), version);
    expect((await reader.listTools()).tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect((await call(reader, "read_file", { sandboxId, path: "/etc/passwd", limit: 4 })).text).toContain("root");
    await reader.close();
    expect(await statusOf(sandboxId)).toBe("Running");
    await api.sandboxes.end(sandboxId);
  }, 60_000);
});
