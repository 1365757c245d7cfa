import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type KubernetesClient, kubernetesClient } from "#engines/kubernetes/client.ts";
import { systemClock } from "#lib/clock.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { type AllInOneOptions, runAllInOne } from "./all-in-one.ts";
import { homeFolder, type HomeFolder } from "#cmd/parts/home-folder.ts";
import { readServerFile } from "./server-file.ts";

let folder: string;
let home: HomeFolder;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-home-"));
  home = homeFolder({ AGENTBOX_HOME: join(folder, "home") });
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const running: RunningServer[] = [];

/** The server in this process; `ready` resolves when its start text is there. */
class RunningServer {
  stdout = "";
  stderr = "";
  readonly ready = Promise.withResolvers<void>();
  readonly result: Promise<number>;
  readonly #end = new AbortController();

  constructor(more: Partial<AllInOneOptions> = {}) {
    const stdout = {
      write: (text: string) => {
        this.stdout += text;
        if (this.stdout.includes("Ctrl-C")) this.ready.resolve();
      },
    };
    const stderr = { write: (text: string) => (this.stderr += text) };
    const options = {
      host: "127.0.0.1",
      port: 0,
      gateway: { host: "127.0.0.1", port: 0, tlsPort: 0, domain: "agentbox.localhost" },
      logFormat: undefined,
      sandboxes: false,
      home,
      env: {},
      version: "1.2.3",
      clock: systemClock,
      signal: this.#end.signal,
      stdout,
      stderr,
    };
    this.result = runAllInOne({ ...options, ...more });
    this.result.catch((error: Error) => this.ready.reject(error));
    this.ready.promise.catch(() => {});
    running.push(this);
  }

  async stop(): Promise<void> {
    this.#end.abort(new Error("ended by the test"));
    await this.result.catch(() => {});
  }
}

async function start(more: Partial<AllInOneOptions> = {}): Promise<RunningServer> {
  const server = new RunningServer(more);
  await server.ready.promise;
  return server;
}

async function withClient<T>(work: (client: KubernetesClient) => Promise<T>): Promise<T> {
  const client = await kubernetesClient({ socketPath: home.socketPath });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

const map: ConfigMap = { metadata: { name: "x", namespace: "default" }, data: { k: "v" } };

describe("agentbox up", () => {
  test("says what runs, where, and what to do next", async () => {
    const { stdout } = await start();
    const facts = await readServerFile(home.serverFile);
    for (const text of [
      home.folder,
      home.socketPath,
      `${facts?.httpAddress}/metrics`,
      home.logFile,
      "object store only, as asked for with --no-sandboxes",
      `AGENTBOX_HOME=${home.folder} bin/agentbox apply -f deploy/examples`,
      "Ctrl-C",
    ]) {
      expect(stdout).toContain(text);
    }
    expect(facts).toMatchObject({ pid: process.pid, version: "1.2.3" });
  });

  test("keeps its data for its user alone", async () => {
    await start();
    const mode = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    expect(await mode(home.folder)).toBe(0o700);
    expect(await mode(home.runFolder)).toBe(0o700);
    expect(await mode(home.socketPath)).toBe(0o600);
    expect(await mode(home.logFile)).toBe(0o600);
  });

  test("shows its first admin key once, and keeps it for this user alone", async () => {
    const first = await start();
    const key = /e2b_[0-9a-f]{40}/.exec(first.stdout)?.[0] ?? "";
    expect(await readFile(home.adminKeyFile, "utf8")).toBe(`${key}\n`);
    expect((await stat(home.adminKeyFile)).mode & 0o777).toBe(0o600);
    await first.stop();
    const second = await start();
    expect(second.stdout).not.toContain(key);
    expect(second.stdout).toContain(home.adminKeyFile);
    expect(await readFile(home.logFile, "utf8")).not.toContain(key);
    expect(await readFile(home.dataFile, "latin1")).not.toContain(key);
  });

  test("says that it runs no sandboxes when it was started without", async () => {
    await start();
    const address = (await readServerFile(home.serverFile))?.httpAddress ?? "";
    const key = (await readFile(home.adminKeyFile, "utf8")).trim();
    for (const [method, path] of [
      ["POST", ""],
      ["GET", "/x/logs"],
    ] as const) {
      const answer = await fetch(`${address}/v1/sandboxes${path}`, { method, headers: { "X-API-Key": key } });
      const detail = "this server runs no sandboxes: it was started with --no-sandboxes";
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: "unavailable", detail }]);
    }
    expect((await fetch(`${address}/v1/sandboxes`)).status).toBe(401);
  });

  test("is ready when it says so, and answers for health", async () => {
    await start();
    const address = (await readServerFile(home.serverFile))?.httpAddress ?? "";
    expect(await (await fetch(`${address}/readyz`)).text()).toBe("ok");
    expect(await (await fetch(`${address}/healthz`)).text()).toBe("ok");
  });

  test("keeps objects from one run to the next", async () => {
    const first = await start();
    await withClient((client) => client.create(ConfigMaps, map));
    await first.stop();
    await start();
    expect(await withClient((client) => client.get(ConfigMaps, { namespace: "default", name: "x" }))).toMatchObject({ data: { k: "v" } });
  });

  test("ends watches, leaves no socket behind, and says so", async () => {
    const server = await start();
    const events = await withClient(async (client) => {
      const watch = client.watch(ConfigMaps, { namespace: "default" })[Symbol.asyncIterator]();
      await client.create(ConfigMaps, map);
      const first = await watch.next();
      const next = watch.next();
      await server.stop();
      return [first, await next];
    });
    expect(events).toMatchObject([{ value: { type: "ADDED" } }, { done: true }]);
    expect(await server.result).toBe(0);
    expect(server.stdout).toMatch(/Stopping AgentBox …\nAgentBox has stopped\. Its data is kept/);
    expect(existsSync(home.socketPath)).toBe(false);
    expect(existsSync(home.serverFile)).toBe(false);
  });

  test("replaces the socket that a killed server left behind", async () => {
    const first = await start();
    await first.stop();
    await writeFile(home.socketPath, "");
    await start();
    expect(await withClient((client) => client.list(ConfigMaps))).toMatchObject({ items: expect.any(Array) });
  });

  test("refuses a folder where another one runs, and says who", async () => {
    await start();
    await expect(new RunningServer().result).rejects.toThrow(
      new RegExp(`AgentBox is already running on ${home.folder} \\(process ${process.pid}, http://127\\.0\\.0\\.1:\\d+\\)`),
    );
    expect(await withClient((client) => client.list(ConfigMaps))).toBeDefined();
  });

  test("cleans up when its port is taken", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    await expect(new RunningServer({ port }).result).rejects.toThrow(`port ${port} of the API is in use by process ${process.pid}`);
    expect(existsSync(home.socketPath)).toBe(false);
    other.close();
    await start();
  });

  test("says what is wrong with its data file", async () => {
    const first = await start();
    await first.stop();
    await writeFile(home.dataFile, "this is no database, but it is long enough to be taken for one".repeat(100));
    await expect(new RunningServer().result).rejects.toThrow("is damaged or not a data file of AgentBox");
  });

  test("counts requests and objects", async () => {
    await start();
    await withClient((client) => client.create(ConfigMaps, map));
    const address = (await readServerFile(home.serverFile))?.httpAddress ?? "";
    const metrics = await (await fetch(`${address}/metrics`)).text();
    expect(metrics).toContain('agentbox_api_requests_total{verb="create",resource="configmaps",subresource="",code="201"} 1');
    expect(metrics).toContain('agentbox_api_request_duration_seconds_count{verb="create",resource="configmaps",subresource=""} 1');
    expect(metrics).toContain('agentbox_store_objects{resource="configmaps"} 2');
    expect(metrics).toMatch(/agentbox_store_newest_resource_version [1-9]/);
    expect(metrics).toContain("agentbox_store_watchers 9");
    expect(metrics).toContain("process_cpu_seconds_total");
  });

  test("writes its log to its folder, or to stderr when asked", async () => {
    const first = await start();
    await first.stop();
    const lines = (await readFile(home.logFile, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(["agentbox started", "agentbox stops"]);
    const second = await start({ logFormat: "text" });
    expect(second.stderr).toMatch(/ info +agentbox started /);
    expect(second.stdout).toContain("here, on stderr");
    await second.stop();
    const third = await start({ logFormat: "json" });
    expect(JSON.parse(third.stderr.split("\n")[0] ?? "")).toMatchObject({ msg: "agentbox started" });
  });

  test("puts a log aside that has grown large", async () => {
    const first = await start();
    await first.stop();
    await writeFile(home.logFile, "x".repeat(10 * 1024 * 1024 + 1));
    await chmod(home.logFile, 0o600);
    await start();
    expect((await stat(`${home.logFile}.1`)).size).toBeGreaterThan(10 * 1024 * 1024);
    expect((await stat(home.logFile)).size).toBeLessThan(1000);
  });
});
