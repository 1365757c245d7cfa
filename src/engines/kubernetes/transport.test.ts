import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Timer } from "#lib/clock.ts";
import { eventually } from "../../../test/world/eventually.ts";
import { answerJson, answerStatus, startFakeApiServer, type Answer, type FakeApiServer } from "../../../test/world/fake-api-server.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import type { Connection } from "./connection.ts";
import { readPlainCredentials, type Credentials } from "./credentials.ts";
import { defaultRetryPolicy } from "./retry.ts";
import { Transport, type TransportOptions } from "./transport.ts";

/** Remembers what was waited for: sockets take real time, so tests wait until their subject does. */
class NotingClock extends SteppedClock {
  readonly delays: number[] = [];

  override after(ms: number, run: () => void): Timer {
    this.delays.push(ms);
    return super.after(ms, run);
  }
}

interface Bench {
  readonly server: FakeApiServer;
  readonly transport: Transport;
  readonly clock: NotingClock;
}

async function bench(answer: Answer, change: Partial<Connection> = {}, options: Partial<TransportOptions> = {}): Promise<Bench> {
  const server = await startFakeApiServer(answer, change.socketPath);
  const clock = new NotingClock();
  const connection = { origin: server.url, basePath: "", readCredentials: () => readPlainCredentials({}), ...change };
  const transport = new Transport(connection, {
    clock,
    random: () => 0,
    policy: defaultRetryPolicy,
    requestTimeoutMs: 60_000,
    connections: 4,
    maxBodyBytes: 1_000_000,
    userAgent: "agentbox-test",
    ...options,
  });
  onTestFinished(async () => {
    await transport.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, transport, clock };
}

const get = { method: "GET", path: "/api?x=1" } as const;
const post = { method: "POST", path: "/api", body: '{"a":"ä"}', contentType: "application/json" } as const;

describe("a request", () => {
  test("carries who we are, what we send and what we take, under the server's path", async () => {
    const { server, transport } = await bench((_, response) => answerJson(response, 201, { ok: true }), {
      basePath: "/k8s/c-1",
      readCredentials: () => readPlainCredentials({ token: { text: "t" }, headers: { "impersonate-group": ["a", "b"] } }),
    });
    await expect(transport.send(post)).resolves.toBe('{"ok":true}');
    expect(server.requests).toMatchObject([{ method: "POST", path: "/k8s/c-1/api", body: '{"a":"ä"}' }]);
    expect(server.requests[0]?.headers).toMatchObject({
      accept: "application/json",
      authorization: "Bearer t",
      "content-type": "application/json",
      "impersonate-group": "a, b",
      "user-agent": "agentbox-test",
    });
  });

  test("goes through a unix socket as well", async () => {
    const folder = await mkdtemp(join(tmpdir(), "agentbox-socket-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const socket = { socketPath: join(folder, "api.sock"), origin: "http://localhost" };
    const { transport } = await bench((_, response) => answerJson(response, 200, "through"), socket);
    await expect(transport.send(get)).resolves.toBe('"through"');
  });

  test("that is cut off names the socket, not the address that stands for it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "agentbox-socket-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const socketPath = join(folder, "api.sock");
    const { transport } = await bench(
      (_, response) => {
        response.writeHead(200).write("{}\n", () => setImmediate(() => response.destroy()));
      },
      { socketPath, origin: "http://localhost" },
    );
    const watch = (async () => {
      for await (const _ of transport.stream(get));
    })();
    await expect(watch).rejects.toMatchObject({
      reason: "Unreachable",
      message: expect.stringContaining(`got no answer from ${socketPath}: `),
    });
  });

  test("uses the connection of the one before, and as many as allowed at once", async () => {
    const { server, transport } = await bench((_, response) => void setImmediate(() => answerJson(response, 200, {})));
    for (let turn = 0; turn < 5; turn++) await transport.send(get);
    // One more is opened when a request comes in the moment before the last one's connection counts as free.
    expect(server.connectionsMade()).toBeLessThanOrEqual(2);
    await Promise.all(Array.from({ length: 40 }, () => transport.send(get)));
    expect(server.connectionsMade()).toBe(4);
  });

  test("is not blocked by watches, however many", async () => {
    const { server, transport } = await bench((request, response) => {
      if (request.path === "/watch") response.writeHead(200).write("{}\n");
      else answerJson(response, 200, "answered");
    });
    const watches = Array.from({ length: 20 }, () => transport.stream({ method: "GET", path: "/watch" }));
    await Promise.all(watches.map((watch) => watch.next()));
    await expect(transport.send(get)).resolves.toBe('"answered"');
    expect(server.openConnections()).toBe(21);
    await Promise.all(watches.map((watch) => watch.return()));
    await eventually(() => expect(server.openConnections()).toBe(1));
  });
});

describe("a server that is busy", () => {
  test("is asked again after the time it named, also with a write", async () => {
    const { server, transport, clock } = await bench((_, response, turn) => {
      if (turn === 0) answerStatus(response, 429, "TooManyRequests", { "retry-after": "3" });
      else answerJson(response, 200, "done");
    });
    const sent = transport.send(post);
    await eventually(() => expect(clock.delays).toContain(3000));
    await clock.step(2999);
    expect(server.requests).toHaveLength(1);
    await clock.step(1);
    await expect(sent).resolves.toBe('"done"');
    expect(server.requests).toHaveLength(2);
  });

  test("is given up with its wish when it stays busy", async () => {
    const { server, transport, clock } = await bench((_, response) =>
      answerStatus(response, 429, "TooManyRequests", { "retry-after": "1" }),
    );
    const sent = transport.send(get).catch((error: unknown) => error);
    for (let turn = 1; turn < 5; turn++) {
      await eventually(() => expect(clock.delays.filter((ms) => ms === 1000)).toHaveLength(turn));
      await clock.step(1000);
    }
    expect(await sent).toMatchObject({ reason: "TooManyRequests", retryAfterMs: 1000 });
    expect(server.requests).toHaveLength(5);
  });

  test("with 503 is asked again for reads only", async () => {
    const { server, transport, clock } = await bench((_, response, turn) => {
      if (turn < 2) answerStatus(response, 503, "ServiceUnavailable", { "retry-after": "2" });
      else answerJson(response, 200, "done");
    });
    await expect(transport.send(post)).rejects.toMatchObject({ reason: "ServiceUnavailable", retryAfterMs: 2000 });
    const read = transport.send(get);
    await eventually(() => expect(clock.delays).toContain(2000));
    await clock.step(2000);
    await expect(read).resolves.toBe('"done"');
    expect(server.requests).toHaveLength(3);
  });
});

describe("a connection that fails", () => {
  test("in the middle of an answer is Unreachable to a writer and tried again for a reader", async () => {
    const { server, transport, clock } = await bench((_, response, turn) => {
      if (turn === 2) answerJson(response, 200, "done");
      else response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy());
    });
    await expect(transport.send(post)).rejects.toMatchObject({
      reason: "Unreachable",
      message: expect.stringContaining("POST /api got no answer from"),
    });
    const read = transport.send(get);
    await eventually(() => expect(clock.delays).toContain(50));
    await clock.step(50);
    await expect(read).resolves.toBe('"done"');
    expect(server.requests).toHaveLength(3);
  });

  test("before anything was sent is tried again even for a writer", async () => {
    const { server, transport, clock } = await bench((_, response) => answerJson(response, 200, {}));
    await server[Symbol.asyncDispose]();
    const sent = transport.send(post).catch((error: unknown) => error);
    for (const pause of [50, 100, 200, 400]) {
      await eventually(() => expect(clock.delays).toContain(pause));
      await clock.step(pause);
    }
    expect(await sent).toMatchObject({ reason: "Unreachable", message: expect.stringContaining("ECONNREFUSED") });
  });
});

describe("an answer", () => {
  test("that a proxy gives instead of the API is an error with its text", async () => {
    const { transport } = await bench((_, response) =>
      response.writeHead(403, { "content-type": "text/html" }).end("<h1>Please log in</h1>"),
    );
    await expect(transport.send(get)).rejects.toMatchObject({
      reason: "Forbidden",
      message: "GET /api was answered with 403 (text/html) and not by a Kubernetes API: Please log in",
    });
  });

  test("that does not come in time fails the request and frees its connection", async () => {
    const { server, transport, clock } = await bench(() => {});
    const sent = transport.send(post).catch((error: unknown) => error);
    await eventually(() => expect(server.requests).toHaveLength(1));
    await clock.step(60_000);
    expect(await sent).toMatchObject({ reason: "Timeout", message: `POST /api was not answered by ${server.url} within 60000 ms` });
    await eventually(() => expect(server.openConnections()).toBe(0));
  });

  test("that is larger than allowed is refused", async () => {
    const { transport } = await bench((_, response) => response.end("x".repeat(2000)), {}, { maxBodyBytes: 1000 });
    await expect(transport.send(get)).rejects.toMatchObject({ reason: "Unknown", message: expect.stringContaining("larger than") });
  });

  test("that is a stream must begin in time and may then last", async () => {
    const { transport, clock } = await bench((_, response, turn) => {
      if (turn === 0) return;
      response.write("first");
      void eventually(() => expect(clock.now()).toBeGreaterThan(began + 3_600_000)).then(() => response.end("second"));
    });
    const began = clock.now();
    const silent = transport
      .stream(get)
      .next()
      .catch((error: unknown) => error);
    await eventually(() => expect(clock.pending).toBe(1));
    await clock.step(60_000);
    expect(await silent).toMatchObject({ reason: "Timeout" });

    const lasting = transport.stream(get);
    expect(String((await lasting.next()).value)).toBe("first");
    await clock.step(3_600_000);
    expect(String((await lasting.next()).value)).toBe("second");
    expect(await lasting.next()).toMatchObject({ done: true });
  });

  test("leaves no timer behind", async () => {
    const { transport, clock } = await bench((_, response) => answerJson(response, 200, {}));
    await transport.send(get);
    expect(clock.pending).toBe(0);
  });
});

describe("a caller that gives up", () => {
  test("gets its own reason, at once, and the server sees the connection close", async () => {
    const { server, transport } = await bench(() => {});
    const abort = new AbortController();
    const sent = transport.send({ ...get, signal: abort.signal });
    await eventually(() => expect(server.requests).toHaveLength(1));
    const reason = new Error("changed my mind");
    abort.abort(reason);
    await expect(sent).rejects.toBe(reason);
    await eventually(() => expect(server.openConnections()).toBe(0));
  });

  test("before sending sends nothing", async () => {
    const { server, transport } = await bench((_, response) => answerJson(response, 200, {}));
    await expect(transport.send({ ...get, signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    expect(server.requests).toHaveLength(0);
  });

  test("while waiting for its turn in the queue gets out of it", async () => {
    const { server, transport, clock } = await bench(() => {}, {}, { connections: 1 });
    const first = new AbortController();
    const blocking = transport.send({ ...get, signal: first.signal }).catch((error: unknown) => error);
    await eventually(() => expect(server.requests).toHaveLength(1));
    const second = new AbortController();
    const queued = transport.send({ ...get, signal: second.signal });
    await eventually(() => expect(clock.delays).toHaveLength(2));
    second.abort(new Error("too slow"));
    await expect(queued).rejects.toThrow("too slow");
    first.abort();
    await blocking;
  });
});

function rotating(): { readonly tokens: string[]; readonly read: () => Promise<Credentials> } {
  const tokens = ["old"];
  return { tokens, read: () => readPlainCredentials({ token: { text: tokens.at(-1) ?? "" } }) };
}

const onlyNew: Answer = (request, response) => {
  if (request.headers.authorization === "Bearer new") answerJson(response, 200, "welcome");
  else answerStatus(response, 401, "Unauthorized");
};

describe("credentials", () => {
  test("that were replaced are read again after a refusal, even for a write", async () => {
    const source = rotating();
    const { server, transport } = await bench(onlyNew, { readCredentials: source.read });
    await expect(transport.send(post)).rejects.toMatchObject({ reason: "Unauthorized" });
    expect(server.requests).toHaveLength(2);
    source.tokens.push("new");
    await expect(transport.send(post)).resolves.toBe('"welcome"');
    await expect(transport.send(post)).resolves.toBe('"welcome"');
    expect(server.requests.map((request) => request.headers.authorization).slice(2)).toEqual(["Bearer old", "Bearer new", "Bearer new"]);
  });

  test("are read again for a refused watch as well", async () => {
    const source = rotating();
    const { transport } = await bench(onlyNew, { readCredentials: source.read });
    await transport.send(get).catch(() => {});
    source.tokens.push("new");
    const chunks: string[] = [];
    for await (const chunk of transport.stream(get)) chunks.push(chunk.toString());
    expect(chunks).toEqual(['"welcome"']);
  });

  test("with another certificate get connections of their own", async () => {
    let ca = "one";
    const { server, transport, clock } = await bench((_, response) => answerJson(response, 200, {}), {
      readCredentials: async () => ({ headers: {}, tls: { ca } }),
      rereadMs: 1000,
    });
    await transport.send(get);
    await clock.step(1000);
    await transport.send(get);
    expect(server.connectionsMade()).toBe(1);
    ca = "two";
    await clock.step(1000);
    await transport.send(get);
    expect(server.connectionsMade()).toBe(2);
    await eventually(() => expect(server.openConnections()).toBe(1));
  });
});

test("a closed client sends nothing more and has no connections", async () => {
  const { server, transport } = await bench((request, response) => {
    if (request.path === "/watch") response.writeHead(200).write("{}\n");
    else answerJson(response, 200, {});
  });
  await transport.send(get);
  const watch = transport.stream({ method: "GET", path: "/watch" });
  await watch.next();
  const ended = watch.next().catch((error: unknown) => error);
  await transport.close();
  expect(await ended).toMatchObject({ reason: "Unreachable" });
  await eventually(() => expect(server.openConnections()).toBe(0));
  const refused = transport.send(post);
  await expect(refused).rejects.toMatchObject({ reason: "Unreachable", message: "POST /api was not sent: the client is closed" });
});
