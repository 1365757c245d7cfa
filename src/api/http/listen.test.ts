import { createServer, get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { apiServer } from "./api-server.ts";
import { drainServer, handOver, listenAt } from "./listen.ts";
import { problemShape } from "./problem.ts";
import { requestSignal, streamSignal } from "./request-signal.ts";

const open = { config: { public: true } };

function serve(routes: (app: FastifyInstance) => void): Promise<FastifyInstance> {
  return apiServer({
    keys: { authenticate: () => undefined, whenEnded: () => () => {} },
    clock: new SteppedClock(),
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    faces: [{ errors: problemShape, routes }],
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
  });
}

function ask(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, headers: { connection: "keep-alive" } }, resolve).on("error", reject);
  });
}

test("a server that shuts down takes no new connections, ends streams, and finishes open requests", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  const app = await serve((face) => {
    face.get("/slow", open, async () => {
      asked.resolve();
      return await answer.promise;
    });
    face.get("/stream", open, async (request, reply) => {
      const stream = new Readable({ read: () => {} });
      stream.push("first\n");
      streamSignal(request, reply).addEventListener("abort", () => stream.push(null));
      return reply.send(stream);
    });
  });
  const address = await listenAt(app, { host: "127.0.0.1", port: 0 });
  const slow = ask(`${address}/slow`);
  await asked.promise;
  const stream = await ask(`${address}/stream`);
  const streamed = text(stream);
  const ended = drainServer(app, 60_000);
  // The stream has ended while the slow answer is still under way.
  expect(await streamed).toBe("first\n");
  await expect(ask(`${address}/healthz`)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  answer.resolve("done");
  expect(await text(await slow)).toBe("done");
  await ended;
});

test("a server that hands over refuses no request and closes each connection with its next answer", async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  const app = await serve((face) => {
    face.get("/slow", open, async () => {
      asked.resolve();
      return await answer.promise;
    });
    face.get("/fast", open, async () => "fine");
  });
  const address = await listenAt(app, { host: "127.0.0.1", port: 0 });
  expect((await ask(`${address}/fast`)).headers.connection).toBe("keep-alive");
  const slow = ask(`${address}/slow`);
  await asked.promise;
  handOver(app);
  const fast = await ask(`${address}/fast`);
  expect([await text(fast), fast.headers.connection]).toEqual(["fine", "close"]);
  answer.resolve("done");
  const late = await slow;
  expect([await text(late), late.headers.connection]).toEqual(["done", "close"]);
  await drainServer(app, 0);
});

test("requests that do not finish in time are cut", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const app = await serve((face) => {
    face.get("/never", open, (_request, reply) => {
      asked.resolve(requestSignal(reply));
    });
  });
  const never = ask(`${await listenAt(app, { host: "127.0.0.1", port: 0 })}/never`);
  never.catch(() => {});
  const signal = await asked.promise;
  const gone = new Promise((resolve) => signal.addEventListener("abort", resolve));
  await drainServer(app, 10);
  await expect(never).rejects.toMatchObject({ code: "ECONNRESET" });
  await gone;
});

test("a caller that disconnects aborts its request; one that has its answer does not", async () => {
  const signals: AbortSignal[] = [];
  const gone = Promise.withResolvers<void>();
  const app = await serve((face) => {
    face.get("/wait", open, async (_request, reply) => {
      const signal = requestSignal(reply);
      signals.push(signal);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      gone.resolve();
    });
    face.get("/quick", open, async (_request, reply) => {
      signals.push(requestSignal(reply));
      return "ok";
    });
  });
  const address = await listenAt(app, { host: "127.0.0.1", port: 0 });
  await text(await ask(`${address}/quick`));
  const abort = new AbortController();
  const waiting = fetch(`${address}/wait`, { signal: abort.signal });
  waiting.catch(() => {});
  while (signals.length < 2) await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  await gone.promise;
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  await app.close();
});

test("a client that asks for an upgrade before its answers are complete is disconnected, and no other client", async () => {
  const answer = Promise.withResolvers<string>();
  const app = await serve((face) => {
    face.get("/slow", open, () => answer.promise);
    face.get("/fast", open, async () => "fine");
  });
  const url = await listenAt(app, { host: "127.0.0.1", port: 0 });
  const upgrade = "GET /fast HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.write(`GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${upgrade}`));
  await new Promise((resolve) =>
    socket
      .on("error", () => {})
      .on("close", resolve)
      .resume(),
  );
  expect(await text(await ask(`${url}/fast`))).toBe("fine");
  answer.resolve("late");
  await drainServer(app, 0);
});

test("an address in use is refused with the system's reason", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const app = await serve(() => {});
  await expect(listenAt(app, { host: "127.0.0.1", port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await app.close();
  other.close();
});
