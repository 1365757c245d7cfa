import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { gatewayWorld, get, send, to } from "../../test/world/gateway-world.ts";

describe("a request reaches its sandbox", () => {
  test("by host, by headers and by path", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((request, response) => response.end(`${request.headers.host} ${request.url}`));
    world.sandbox("abc");
    const [byHost] = await send(world, { path: "/x?y=1", headers: { host: `${port}-abc.box.test` } });
    expect(await text(byHost)).toBe(`${port}-abc.box.test /x?y=1`);
    expect((await get(world, "/x?y=1", to("abc", port))).body).toMatch(/ \/x\?y=1$/);
    expect((await get(world, `/sandboxes/abc/${port}/x?y=1`, {})).body).toMatch(/ \/x\?y=1$/);
  });

  test("with its method, its body and its headers, and the answer with its own, as often as they come", async () => {
    await using world = await gatewayWorld();
    const port = await world.program(async (request, response) => {
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      response.statusCode = 207;
      response.end(JSON.stringify({ method: request.method, kept: request.headers["x-kept"], body: await text(request) }));
    });
    world.sandbox("abc");
    const response = await fetch(world.url, { method: "PUT", body: "12345", headers: { ...to("abc", port), "x-kept": "yes" } });
    expect(response.status).toBe(207);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.json()).toEqual({ method: "PUT", kept: "yes", body: "12345" });
  });

  test("without the console's session, which browsers send to every port of its host, and unable to set one", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((request, response) => {
      response.setHeader("set-cookie", ["agentbox_session=of the sandbox", "b=2"]);
      response.end(request.headers.cookie);
    });
    world.sandbox("abc");
    const [response] = await send(world, { path: `/sandboxes/abc/${port}/`, headers: { cookie: "a=1; agentbox_session=secret" } });
    expect([await text(response), response.headers["set-cookie"]]).toEqual(["a=1", ["b=2"]]);
  });

  test("headers of one connection are not forwarded, and only the gateway sets the headers about the client's address", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((request, response) => {
      response.setHeader("keep-alive", "timeout=99");
      response.end(JSON.stringify(request.headers));
    });
    world.sandbox("abc");
    const headers = {
      ...to("abc", port),
      connection: "x-secret, close",
      "x-secret": "1",
      te: "gzip",
      "proxy-authorization": "me",
      "x-forwarded-for": "6.6.6.6",
    };
    const [response] = await send(world, { headers });
    const seen = JSON.parse(await text(response)) as Record<string, string>;
    expect(Object.keys(seen).filter((name) => ["x-secret", "te", "proxy-authorization", "e2b-sandbox-id"].includes(name))).toEqual([]);
    expect(seen["x-forwarded-for"]).toBe("127.0.0.1");
    expect(response.headers["keep-alive"]).not.toBe("timeout=99");
  });

  test("piece by piece: the beginning of an answer is there before its end is written", async () => {
    await using world = await gatewayWorld();
    const go = Promise.withResolvers<void>();
    const port = await world.program(async (_, response) => {
      response.write("first");
      await go.promise;
      response.end(" last");
    });
    world.sandbox("abc");
    const response = await fetch(world.url, { headers: to("abc", port) });
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first");
    go.resolve();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(" last");
  });

  test("piece by piece: the sandbox reads the beginning of a body before its end is sent", async () => {
    await using world = await gatewayWorld();
    const first = Promise.withResolvers<string>();
    const port = await world.program(async (request, response) => {
      request.once("data", (chunk: Buffer) => first.resolve(chunk.toString()));
      response.end(String((await text(request)).length));
    });
    world.sandbox("abc");
    const outgoing = httpRequest({ host: "127.0.0.1", port: world.server.port, method: "POST", headers: to("abc", port) });
    outgoing.write("begin");
    expect(await first.promise).toBe("begin");
    outgoing.end("end");
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    await text(response);
  });

  test("a client that expects 100 Continue gets it, or a refusal, from the sandbox", async () => {
    await using world = await gatewayWorld();
    const program = createServer((request, response) => void text(request).then((body) => response.end(body)));
    program.on("checkContinue", (request: IncomingMessage, response) => {
      if (request.url === "/no") return void response.writeHead(417).end();
      response.writeContinue();
      void text(request).then((body) => response.end(body));
    });
    const port = await world.program(program);
    world.sandbox("abc");
    const expecting = (path: string) =>
      httpRequest({
        host: "127.0.0.1",
        port: world.server.port,
        path,
        method: "POST",
        headers: { ...to("abc", port), expect: "100-continue", "content-length": "2" },
      });
    const yes = expecting("/yes");
    yes.flushHeaders();
    await once(yes, "continue");
    yes.end("ok");
    expect(await text(((await once(yes, "response")) as [IncomingMessage])[0])).toBe("ok");
    const no = expecting("/no");
    no.on("continue", () => expect.unreachable("it was told to go on"));
    no.flushHeaders();
    const [refused] = (await once(no, "response")) as [IncomingMessage];
    expect(refused.statusCode).toBe(417);
    no.destroy();
  });

  test("trailers go along in both directions", async () => {
    await using world = await gatewayWorld();
    const port = await world.program(async (request, response) => {
      await text(request);
      response.writeHead(200, { trailer: "x-sum" });
      response.write("body");
      response.addTrailers({ "x-sum": request.trailers["x-in"] ?? "none" });
      response.end();
    });
    world.sandbox("abc");
    const outgoing = httpRequest({
      host: "127.0.0.1",
      port: world.server.port,
      method: "POST",
      headers: { ...to("abc", port), trailer: "x-in", "transfer-encoding": "chunked" },
    });
    outgoing.write("x");
    outgoing.addTrailers([["x-in", "42"]]);
    outgoing.end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    await text(response);
    expect(response.trailers).toEqual({ "x-sum": "42" });
  });
});

describe("a connection becomes something else", () => {
  test("a WebSocket carries messages both ways, and its end", async () => {
    await using world = await gatewayWorld();
    const program = createServer();
    new WebSocketServer({ server: program }).on("connection", (socket) => {
      socket.on("message", (data: Buffer) => socket.send(`echo ${data.toString()}`));
    });
    const port = await world.program(program);
    world.sandbox("abc");
    const client = new WebSocket(`ws://127.0.0.1:${world.server.port}/chat`, { headers: to("abc", port) });
    await once(client, "open");
    expect(world.traffic.of("abc")?.open).toBe(1);
    client.send("hello");
    const [message] = (await once(client, "message")) as [Buffer];
    expect(message.toString()).toBe("echo hello");
    client.close(4000, "done");
    const [code] = (await once(client, "close")) as [number];
    expect(code).toBe(4000);
  });

  test("a program that does not want to answers as usual", async () => {
    await using world = await gatewayWorld();
    const port = await world.program((_, response) => response.writeHead(400, { "x-why": "no" }).end("no sockets here"));
    world.sandbox("abc");
    const client = new WebSocket(world.url.replace("http", "ws"), { headers: to("abc", port) });
    const [, response] = (await once(client, "unexpected-response")) as [unknown, IncomingMessage];
    expect([response.statusCode, response.headers["x-why"], await text(response)]).toEqual([400, "no", "no sockets here"]);
  });

  test("one side may have ended while the other still speaks", async () => {
    await using world = await gatewayWorld();
    const program = createServer();
    program.on("upgrade", (_, socket: Socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: talk\r\n\r\n");
      let heard = "";
      socket.on("data", (chunk: Buffer) => (heard += chunk.toString()));
      socket.on("end", () => socket.end(`heard ${heard}`));
    });
    const port = await world.program(program);
    world.sandbox("abc");
    const socket = await world.raw();
    socket.end(
      `GET / HTTP/1.1\r\nHost: x\r\ne2b-sandbox-id: abc\r\ne2b-sandbox-port: ${port}\r\nConnection: Upgrade\r\nUpgrade: talk\r\n\r\nbye`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1.1 101 [^]*\r\n\r\nheard bye$/);
  });

  test("an upgrade request with a body is an ordinary request", async () => {
    await using world = await gatewayWorld();
    const port = await world.program(async (request, response) =>
      response.end(`${request.headers.upgrade ?? "none"} ${await text(request)}`),
    );
    world.sandbox("abc");
    const headers = { ...to("abc", port), connection: "Upgrade, HTTP2-Settings", upgrade: "h2c" };
    const [response] = await send(world, { method: "POST", headers, body: "body" });
    expect(await text(response)).toBe("none body");
  });

  test("an upgrade to an unknown sandbox is answered", async () => {
    await using world = await gatewayWorld();
    const client = new WebSocket(world.url.replace("http", "ws"), { headers: to("nobody", 80) });
    const [, response] = (await once(client, "unexpected-response")) as [unknown, IncomingMessage];
    expect(response.statusCode).toBe(502);
    response.resume();
  });
});

test("W21: a stream is traffic as long as it lasts", async () => {
  await using world = await gatewayWorld();
  const go = Promise.withResolvers<void>();
  const port = await world.program(async (_, response) => {
    response.write("x");
    await go.promise;
    response.end();
  });
  world.sandbox("abc");
  const response = await fetch(world.url, { headers: to("abc", port) });
  await world.clock.step(3_600_000);
  expect(world.traffic.of("abc")).toMatchObject({ open: 1 });
  go.resolve();
  await response.text();
  expect(world.traffic.of("abc")).toMatchObject({ open: 0, lastMs: world.clock.now() });
});
