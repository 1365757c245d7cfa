import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { agentbox } from "../../test/world/run-cli.ts";
import type { GatewayPlace, ServeRequest } from "./context.ts";
import { commandTable } from "./command-table.ts";

/** Those for people. */
const commands = commandTable.filter(({ group }) => group !== "hidden");

describe("help", () => {
  test.each([[[]], [["help"]], [["--help"]], [["-h"]]])("of the program is printed by %j", async (argv) => {
    const { stdout, code } = await agentbox(argv);
    expect(code).toBe(0);
    expect(stdout).toContain("Usage: agentbox COMMAND");
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
  });

  test.each(commands.map(({ name }) => name))("of %s is shown both ways and speaks of every flag", async (name) => {
    const help = await agentbox(["help", name]);
    expect(help).toEqual(await agentbox([name, "--help"]));
    expect(help.code).toBe(0);
    const entry = commandTable.find((candidate) => candidate.name === name);
    const command = await entry?.load();
    for (const flag of Object.keys(command?.flags ?? {})) expect(help.stdout).toContain(`--${flag}`);
    expect(help.stdout).toContain("Examples:");
    expect(help.stdout).toContain(`Usage: agentbox ${name}`);
  });

  test("lines fit into a terminal of 150 columns", async () => {
    for (const { name } of commandTable) {
      const { stdout } = await agentbox(["help", name]);
      expect(stdout.split("\n").filter((line) => line.length > 150)).toEqual([]);
    }
  });
});

test("docs/command-line.md speaks of every command", () => {
  const page = readFileSync(new URL("../../docs/command-line.md", import.meta.url), "utf8");
  expect(commands.map(({ name }) => name).filter((name) => !new RegExp(`(agentbox |\`)${name}\\b`).test(page))).toEqual([]);
});

describe("a mistake in the command line", () => {
  test.each([
    [["aply"], "error: unknown command 'aply'\n(Did you mean apply?)\nSee: agentbox help\n"],
    [["frobnicate"], "error: unknown command 'frobnicate'\nSee: agentbox help\n"],
    [["help", "gte"], "error: unknown command 'gte'\n(Did you mean get?)\nSee: agentbox help\n"],
    [["-n", "x", "get"], "error: unknown option '-n'\nSee: agentbox help\n"],
    [["get", "--namespce=x", "pods"], "error: unknown option '--namespce=x'\n(Did you mean --namespace?)\nSee: agentbox help get\n"],
    [["apply", "pool.yaml"], "error: apply takes files with -f: unexpected pool.yaml\nSee: agentbox help apply\n"],
    [["up", "--port", "many"], 'error: --port must be a port from 0 to 65535, not "many"\nSee: agentbox help up\n'],
  ])("%j ends with 2 and a hint", async (argv, stderr) => {
    expect(await agentbox(argv)).toEqual({ stdout: "", stderr, code: 2 });
  });
});

describe("version", () => {
  test.each([[["version"]], [["--version"]]])("is printed by %j", async (argv) => {
    expect(await agentbox(argv)).toEqual({ stdout: `agentbox 1.2.3 (node ${process.versions.node})\n`, stderr: "", code: 0 });
  });
});

describe("env", () => {
  const home = {
    folder: "/data/it's",
    socketPath: "/data/it's/run/api.sock",
    httpAddress: async () => "http://127.0.0.1:1",
    gateway: async (): Promise<GatewayPlace | undefined> => undefined,
    adminKey: async () => "e2b_abc",
  };

  test.each([
    [
      "sh",
      "export AGENTBOX_HOME='/data/it'\\''s'\nexport AGENTBOX_SOCKET='/data/it'\\''s/run/api.sock'\nexport AGENTBOX_API_URL='http://127.0.0.1:1'\nexport AGENTBOX_API_KEY='e2b_abc'\n",
    ],
    [
      "fish",
      "set -gx AGENTBOX_HOME '/data/it\\'s'\nset -gx AGENTBOX_SOCKET '/data/it\\'s/run/api.sock'\nset -gx AGENTBOX_API_URL 'http://127.0.0.1:1'\nset -gx AGENTBOX_API_KEY 'e2b_abc'\n",
    ],
    [
      "dotenv",
      'AGENTBOX_HOME="/data/it\'s"\nAGENTBOX_SOCKET="/data/it\'s/run/api.sock"\nAGENTBOX_API_URL="http://127.0.0.1:1"\nAGENTBOX_API_KEY="e2b_abc"\n',
    ],
  ])("is printed for %s", async (format, stdout) => {
    expect(await agentbox(["env", "-o", format], { home })).toEqual({ stdout, stderr: "", code: 0 });
  });

  test("is printed for programs", async () => {
    expect(JSON.parse((await agentbox(["env", "--output=json"], { home })).stdout)).toEqual({
      AGENTBOX_HOME: home.folder,
      AGENTBOX_SOCKET: home.socketPath,
      AGENTBOX_API_URL: "http://127.0.0.1:1",
      AGENTBOX_API_KEY: "e2b_abc",
    });
  });

  test("points E2B's SDKs at a server that has sandboxes, and at no other", async () => {
    const place = async (): Promise<GatewayPlace> => ({ address: "http://127.0.0.1:2", domain: "box.localhost:3" });
    const { stdout } = await agentbox(["env", "-o", "dotenv"], { home: { ...home, gateway: place } });
    expect(stdout.split("\n").slice(4)).toEqual([
      'E2B_API_KEY="e2b_abc"',
      'E2B_API_URL="http://127.0.0.1:1"',
      'E2B_SANDBOX_URL="http://127.0.0.1:2"',
      'E2B_DOMAIN="box.localhost:3"',
      "",
    ]);
    expect((await agentbox(["env"], { home })).stdout).not.toContain("E2B_");
  });

  test("by hosts tells the SDKs the domain alone, and takes back what points them elsewhere", async () => {
    const authorityFile = "/data/it's/certificates/authority.crt";
    const place = async (): Promise<GatewayPlace> => ({ address: "http://127.0.0.1:2", domain: "box.localhost:3", authorityFile });
    const printed = async (format: string): Promise<readonly string[]> => {
      const { stdout } = await agentbox(["env", "--hosts", "-o", format], { home: { ...home, gateway: place } });
      return stdout.trimEnd().split("\n").slice(4);
    };
    expect(await printed("dotenv")).toEqual([
      'E2B_API_KEY="e2b_abc"',
      'E2B_DOMAIN="box.localhost:3"',
      `NODE_EXTRA_CA_CERTS="${authorityFile}"`,
    ]);
    expect((await printed("sh")).at(-1)).toBe("unset E2B_API_URL E2B_SANDBOX_URL");
    expect((await printed("fish")).slice(-2)).toEqual(["set -e E2B_API_URL", "set -e E2B_SANDBOX_URL"]);
  });

  test("fails while no server runs", async () => {
    expect(await agentbox(["env"])).toEqual({ stdout: "", stderr: "AgentBox is not running here. Start it with: make up\n", code: 1 });
  });
});

describe("up", () => {
  const asked = async (argv: readonly string[], env: Record<string, string> = {}): Promise<ServeRequest | undefined> => {
    let request: ServeRequest | undefined;
    const serve = async (given: ServeRequest): Promise<number> => {
      request = given;
      return 0;
    };
    await agentbox(["up", ...argv], { env, serve });
    return request;
  };

  test("takes its port from the flag, else from the environment, else the usual one", async () => {
    expect(await asked(["--port", "1"], { AGENTBOX_PORT: "2" })).toEqual({
      host: "127.0.0.1",
      port: 1,
      gateway: { host: "127.0.0.1", port: 2, tlsPort: 3, domain: "agentbox.localhost" },
      logFormat: undefined,
      sandboxes: true,
    });
    expect(await asked([], { AGENTBOX_PORT: "2" })).toMatchObject({ port: 2 });
    expect(await asked([], { AGENTBOX_PORT: "" })).toMatchObject({ port: 8099 });
  });

  test("puts the gateway beside the APIs, or where it is told to", async () => {
    expect(await asked(["--port", "0"])).toMatchObject({ gateway: { port: 0, tlsPort: 0 } });
    expect(await asked(["--port", "65535"])).toMatchObject({ gateway: { port: 0, tlsPort: 0 } });
    const told = ["--gateway-port", "80", "--domain", "box.test", "--tls-cert", "c.pem", "--tls-key", "k.pem"];
    expect(await asked(told, { AGENTBOX_GATEWAY_TLS_PORT: "443" })).toMatchObject({
      gateway: { port: 80, tlsPort: 443, domain: "box.test", certificate: { certFile: "c.pem", keyFile: "k.pem" } },
    });
  });

  test("takes limits of what may be open and asked for", async () => {
    expect(await asked(["--max-timeout", "2h"])).toMatchObject({ maxTimeoutMs: 7_200_000 });
    expect(await asked(["--max-open", "10"], { AGENTBOX_MAX_OPEN_EACH: "5" })).toMatchObject({ maxOpen: 10, maxOpenOfSandbox: 5 });
  });

  test.each([
    [["--max-timeout", "721h"], "--max-timeout must be from 1s to 720h"],
    [["--max-open-each", "0"], "--max-open-each must be a number of at least 1"],
    [["--domain", "Box.test:443"], "--domain must be a DNS name in lower case without a port"],
    [["--tls-cert", "c.pem"], "--tls-cert and --tls-key must be given together"],
    [["--gateway-port", "70000"], "--gateway-port must be a port from 0 to 65535"],
  ])("refuses %j", async (argv, message) => {
    expect((await agentbox(["up", ...argv])).stderr).toContain(message);
  });

  test("leaves sandboxes out when asked to", async () => {
    expect(await asked(["--no-sandboxes"])).toMatchObject({ sandboxes: false });
  });

  test("writes its log where and how it is asked to", async () => {
    expect(await asked(["--log-format", "json"])).toMatchObject({ logFormat: "json" });
    expect(await asked(["--log-format=text"])).toMatchObject({ logFormat: "text" });
  });
});

test("Ctrl-C ends a command without a word, with the code that shells expect", async () => {
  const signal = AbortSignal.abort(new Error("ended by SIGINT"));
  const connect = (): Promise<never> => Promise.reject(signal.reason as Error);
  expect(await agentbox(["get", "pods"], { signal, connect })).toEqual({ stdout: "", stderr: "", code: 130 });
});

test.each([
  [{}, /^error: this is a bug in AgentBox: Error: boom; set AGENTBOX_DEBUG=1 to see the stack\n$/],
  [{ AGENTBOX_DEBUG: "0" }, /^error: this is a bug in AgentBox: Error: boom; set AGENTBOX_DEBUG=1 to see the stack\n$/],
  [{ AGENTBOX_DEBUG: "1" }, /^error: Error: boom\n +at /],
])("a bug exits with 1 and one line; with %j the stack is printed", async (env, stderr) => {
  const connect = (): Promise<never> => Promise.reject(new Error("boom"));
  expect(await agentbox(["get", "pods"], { env, connect })).toMatchObject({ stderr: expect.stringMatching(stderr), code: 1 });
});
