import type { Server } from "node:http";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { startStatusServer } from "./status-server.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function start(ready = true): Promise<string> {
  const registry = new Registry();
  prometheusMetrics(registry).counter({ name: "things_total", help: "Things", labels: [] }).add({});
  const { server, address } = await startStatusServer({ port: 0, ready: () => ready, registry });
  servers.push(server);
  return address;
}

interface Reply {
  readonly code: number;
  readonly body: string;
  readonly type: string;
}

async function ask(url: string, headers: Record<string, string> = {}, method = "GET"): Promise<Reply> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { headers, method }, resolve).on("error", reject).end();
  });
  return { code: response.statusCode ?? 0, body: await text(response), type: response.headers["content-type"] ?? "" };
}

describe("the address for health and metrics", () => {
  test("is on this machine only", async () => {
    expect(await start()).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  test("answers for health, readiness and metrics, and helps with the rest", async () => {
    const address = await start();
    expect(await ask(`${address}/healthz`)).toMatchObject({ code: 200, body: "ok" });
    expect(await ask(`${address}/readyz?verbose`)).toMatchObject({ code: 200, body: "ok" });
    expect(await ask(`${address}/metrics`)).toMatchObject({
      code: 200,
      body: expect.stringContaining("things_total 1"),
      type: expect.stringContaining("version=0.0.4"),
    });
    expect(await ask(`${address}/`)).toMatchObject({ code: 404, body: "there is /healthz, /livez, /readyz and /metrics\n" });
  });

  test.each(["POST", "PUT", "DELETE", "OPTIONS"])("takes no %s", async (method) => {
    expect(await ask(`${await start()}/healthz`, {}, method)).toMatchObject({
      code: 405,
      body: "this address only answers GET and HEAD\n",
    });
  });

  test("answers HEAD as GET, without a body", async () => {
    expect(await ask(`${await start()}/healthz`, {}, "HEAD")).toMatchObject({ code: 200, body: "" });
  });

  test("is alive but not ready while the server starts or ends", async () => {
    const address = await start(false);
    expect(await ask(`${address}/livez`)).toMatchObject({ code: 200 });
    expect(await ask(`${address}/readyz`)).toMatchObject({ code: 503, body: "not ready" });
  });

  test("does not answer a browser that was led here by another name", async () => {
    const address = await start();
    expect(await ask(`${address}/metrics`, { host: "evil.example.test" })).toMatchObject({ code: 403 });
    expect(await ask(`${address}/metrics`, { host: `localhost:${new URL(address).port}` })).toMatchObject({ code: 200 });
  });

  test("that is taken is refused with a way out", async () => {
    const port = Number(new URL(await start()).port);
    const second = startStatusServer({ port, ready: () => true, registry: new Registry() });
    await expect(second).rejects.toThrow(
      `port ${port} on 127.0.0.1 is in use by another program. Choose another: AGENTBOX_PORT=${port + 1} make up, or agentbox up --port ${port + 1}`,
    );
  });
});
