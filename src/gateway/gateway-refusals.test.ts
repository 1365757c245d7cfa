import { createServer as createHttpServer, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { gatewayWorld, get, send, to } from "../../test/world/gateway-world.ts";

describe("answers of the gateway itself", () => {
  test("an unknown sandbox is not found, with the message that clients look for", async () => {
    await using world = await gatewayWorld();
    expect(await get(world, "/", to("nobody", 80))).toEqual({
      status: 502,
      body: { sandboxId: "nobody", message: "The sandbox was not found", code: 502 },
    });
  });

  test("one that has ended is told with cause and time, and a person gets a page", async () => {
    const ended = { terminatedAt: "2026-01-01T00:00:00.000Z", stopReason: "Released", failureReason: "IdleTimeout" } as SandboxRecord;
    await using world = await gatewayWorld({ ended: async () => ended });
    expect((await get(world, "/", to("gone", 80))).body).toMatchObject({
      message: "The sandbox was not found",
      cause: "IdleTimeout",
      endedAt: ended.terminatedAt,
    });
    const page = await fetch(world.url, { headers: { ...to("gone", 80), accept: "text/html,*/*" } });
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(await page.text()).toContain("It ended at 2026-01-01T00:00:00.000Z (IdleTimeout).");
  });

  test.each([
    ["a browser that takes anything", { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0" }, "text/html"],
    ["a browser's page that asks for itself", { "user-agent": "Mozilla/5.0", "sec-fetch-dest": "empty" }, "application/json"],
    ["a browser that asks for JSON", { "user-agent": "Mozilla/5.0", accept: "application/json" }, "application/json"],
    ["a program", { "user-agent": "python-httpx/0.28" }, "application/json"],
  ])("%s gets %o as it can read it", async (_, headers, type) => {
    await using world = await gatewayWorld({ ended: async () => undefined });
    const answer = await fetch(world.url, { headers: { ...to("gone", 80), ...headers } });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([502, expect.stringContaining(type)]);
  });

  test("a port on which nothing listens", async () => {
    await using world = await gatewayWorld();
    const daemonPort = await world.program((_, response) => response.writeHead(404).end());
    world.sandbox("abc", { daemonPort });
    expect(await get(world, "/", to("abc", 1))).toMatchObject({ status: 502, body: { sandboxId: "abc", port: 1, code: 502 } });
  });

  test("a program that hangs up before it answers, and one that speaks no HTTP", async () => {
    await using world = await gatewayWorld();
    const silent = await world.program((request) => request.socket.destroy());
    world.sandbox("abc");
    expect(await get(world, "/", to("abc", silent))).toMatchObject({ status: 502, body: { port: silent } });
  });

  test("an answer that is cut short is not passed on as a whole one", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((_, response) => {
      response.write("half");
      setImmediate(() => response.destroy());
    });
    world.sandbox("abc");
    const response = await fetch(world.url, { headers: to("abc", port) });
    await expect(response.text()).rejects.toThrow(/terminated|aborted|closed/);
  });

  test.each([
    ["trailers behind a body whose length is known", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTrailer: X-T\r\n\r\nok", 200],
    ["a status that there is not", "HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\nok", 502],
  ])("%s do no harm to others", async (_, said, status) => {
    await using world = await gatewayWorld();
    const port = await world.program(createHttpServer().on("connection", (socket: Socket) => socket.once("data", () => socket.end(said))));
    world.sandbox("abc");
    expect((await get(world, "/", to("abc", port))).status).toBe(status);
    const mine = await world.program((_request, response) => response.end("fine"));
    expect((await get(world, "/", { ...to("abc", mine), trailer: "X-T" })).body).toBe("fine");
  });

  test("one to an upgrade that is cut short ends the connection", async () => {
    await using world = await gatewayWorld();
    const said = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nte";
    const port = await world.program(createHttpServer().on("connection", (socket: Socket) => socket.once("data", () => socket.end(said))));
    world.sandbox("abc");
    const socket = await world.raw();
    socket.write(
      `GET / HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: abc\r\nE2b-Sandbox-Port: ${port}\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n`,
    );
    await new Promise((resolve) => socket.on("error", resolve).on("close", resolve).on("end", resolve).resume());
    socket.destroy();
    expect(world.traffic.of("abc")?.open).toBe(0);
  });

  test("a client that disconnects ends its request in the sandbox", async () => {
    await using world = await gatewayWorld();
    const gone = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const port = await world.program((_, response) => {
      response.on("close", () => gone.resolve());
      arrived.resolve();
    });
    world.sandbox("abc");
    const outgoing = httpRequest({ host: "127.0.0.1", port: world.server.port, headers: to("abc", port) });
    outgoing.on("error", () => {});
    outgoing.end();
    await arrived.promise;
    outgoing.destroy();
    await gone.promise;
    expect(world.traffic.of("abc")?.open).toBe(0);
  });
});

describe("access to sandboxes", () => {
  test("the control plane's routes of the daemon are closed, however they are written", async () => {
    await using world = await gatewayWorld();
    const daemonPort = await world.program((_, response) => response.end("daemon"));
    world.sandbox("abc", { daemonPort });
    for (const path of ["/init", "/INIT", "//init", "/x/../init", "/%69nit", "/init/", "/init?x=1", "/retire", "/%72etire", "/freeze"]) {
      const [response] = await send(world, { method: "POST", path, headers: to("abc", 49_983) });
      expect([path, response.statusCode]).toEqual([path, 404]);
      response.resume();
    }
    expect((await get(world, "/health", to("abc", 49_983))).body).toBe("daemon");
  });

  test("private traffic wants the token, except for the daemon, which has its own", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((_, response) => response.end("in"));
    world.sandbox("abc", { annotations: { [annotationKeys.privateTraffic]: "true" }, daemonPort: port });
    expect((await get(world, "/", to("abc", port))).status).toBe(403);
    expect((await get(world, "/", { ...to("abc", port), "e2b-traffic-access-token": "traffic-other" })).status).toBe(403);
    expect((await get(world, "/", { ...to("abc", port), "e2b-traffic-access-token": "traffic-abc" })).body).toBe("in");
    expect((await get(world, "/", to("abc", 49_983))).body).toBe("in");
  });

  test("a sandbox may see another host than the client named", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((request, response) => response.end(request.headers.host));
    world.sandbox("abc", { annotations: { [annotationKeys.maskHost]: "localhost:${PORT}" } });
    expect((await get(world, "/", to("abc", port))).body).toBe(`localhost:${port}`);
  });

  test("pages of any origin may talk to the daemon", async () => {
    await using world = await gatewayWorld();
    const daemonPort = await world.program((_, response) => response.end("daemon"));
    world.sandbox("abc", { daemonPort });
    const ask = {
      ...to("abc", 49_983),
      origin: "https://page.test",
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-access-token",
    };
    const [preflight] = await send(world, { method: "OPTIONS", headers: ask });
    expect(preflight.statusCode).toBe(204);
    expect(preflight.headers).toMatchObject({ "access-control-allow-origin": "*", "access-control-allow-headers": "x-access-token" });
    preflight.resume();
    const [answer] = await send(world, { headers: { ...to("abc", 49_983), origin: "https://page.test" } });
    expect(answer.headers["access-control-allow-origin"]).toBe("*");
    answer.resume();
  });

  test("a paused sandbox is asleep; traffic wakes it where that is wished", async () => {
    const woken: string[] = [];
    await using world = await gatewayWorld({
      wake: async (id) => {
        woken.push(id);
        world.sandbox(id);
      },
    });
    const port = await world.program((_, response) => response.end("awake"));
    world.sandbox("asleep", { annotations: { [annotationKeys.paused]: "2026-01-01T00:00:00Z" } });
    expect(await get(world, "/", to("asleep", port))).toMatchObject({ status: 502, body: { message: "The sandbox is paused" } });
    world.sandbox("light", { annotations: { [annotationKeys.paused]: "2026-01-01T00:00:00Z", [annotationKeys.autoResume]: "true" } });
    expect((await get(world, "/", to("light", port))).body).toBe("awake");
    expect(woken).toEqual(["light"]);
  });

  test("a stopping sandbox is not found", async () => {
    await using world = await gatewayWorld();
    world.sandbox("abc", { phase: "stopping" });
    expect((await get(world, "/", to("abc", 80))).status).toBe(502);
  });
});

describe("requests that two readers could interpret differently are refused", () => {
  test.each([
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"],
    ["a length and chunks", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["chunks that are none", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
    ["two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
    ["a host that is none", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"],
    ["a space before the colon", "GET / HTTP/1.1\r\nHost: x\r\nX-A : 1\r\n\r\n"],
    ["a line that goes on", "GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n more\r\n\r\n"],
    ["no HTTP at all", "hello\r\n\r\n"],
  ])("%s", async (_, head) => {
    await using world = await gatewayWorld();
    let asked = 0;
    const port = await world.program((_request, response) => {
      asked++;
      response.end();
    });
    world.sandbox("abc");
    const socket = await world.raw();
    socket.end(head.replace("\r\n\r\n", `\r\nE2b-Sandbox-Id: abc\r\nE2b-Sandbox-Port: ${port}\r\nConnection: close\r\n\r\n`));
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
    expect(asked).toBe(0);
  });

  test("headers without end", async () => {
    await using world = await gatewayWorld();
    const socket = await world.raw();
    socket.on("error", () => {});
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(80_000)}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1.1 431 /);
  });
});
