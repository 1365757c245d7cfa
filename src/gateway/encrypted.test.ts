import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { createServer } from "node:http";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { gatewayWorld, type GatewayWorld } from "../../test/world/gateway-world.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { localCertificates } from "./local-certificates.ts";

const domain = "box.localhost";
let folder = "";
let authority = "";
let tls: { key: string; cert: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-encrypted-"));
  const clock = new SteppedClock();
  await clock.step(Math.max(0, Date.now() - clock.now()));
  const made = await localCertificates(folder, domain, clock);
  authority = await readFile(made.authorityFile, "utf8");
  tls = made.certificate;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const host = (port: number): string => `${port}-abc.${domain}`;

function openHttp2(world: GatewayWorld, port: number) {
  return connectHttp2(`https://${host(port)}`, {
    ca: authority,
    createConnection: undefined,
    port: world.server.port,
    lookup: (_name: string, _options: unknown, done: (error: null, addresses: { address: string; family: number }[]) => void) =>
      done(null, [{ address: "127.0.0.1", family: 4 }]),
  } as Parameters<typeof connectHttp2>[1]);
}

test("HTTP/2 carries requests side by side, with repeated headers and bodies in pieces", async () => {
  await using world = await gatewayWorld({}, { tls });
  const port = await world.program(async (request, response) => {
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    response.end(`${request.headers.host ?? ""} ${request.method ?? ""} ${await text(request)}`);
  });
  world.sandbox("abc");
  const session = openHttp2(world, port);
  const ask = async (body: string): Promise<[string, unknown]> => {
    const stream = session.request({ ":method": "POST", ":path": "/x" });
    stream.end(body);
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    return [await text(stream), headers["set-cookie"]];
  };
  const answers = await Promise.all([ask("one"), ask("two")]);
  expect(answers.map(([body]) => body)).toEqual([`${host(port)}:443 POST one`, `${host(port)}:443 POST two`]);
  expect(answers[0]?.[1]).toEqual(["a=1", "b=2"]);
  session.close();
});

test("a gateway that ends tells clients of HTTP/2 to go elsewhere, and carries their streams to the end", async () => {
  await using world = await gatewayWorld({}, { tls });
  const go = Promise.withResolvers<void>();
  const port = await world.program(async (_request, response) => {
    response.write("first ");
    await go.promise;
    response.end("last");
  });
  world.sandbox("abc");
  const session = openHttp2(world, port);
  const stream = session.request({ ":path": "/" });
  await once(stream, "response");
  const told = once(session, "goaway");
  const closed = world.server.close(60_000);
  expect(await told).toEqual([0, expect.anything(), undefined]);
  go.resolve();
  expect(await text(stream)).toBe("first last");
  expect(await closed).toBe(0);
});

test("a stream of HTTP/2 that its client leaves ends in the sandbox too", async () => {
  await using world = await gatewayWorld({}, { tls });
  const gone = Promise.withResolvers<void>();
  const port = await world.program((_, response) => {
    response.on("close", () => gone.resolve());
    response.write("first");
  });
  world.sandbox("abc");
  const session = openHttp2(world, port);
  const stream = session.request({ ":path": "/" });
  await once(stream, "data");
  stream.close();
  await gone.promise;
  session.close();
});

test("an answer over HTTP/2 that the sandbox breaks off is no whole answer", async () => {
  await using world = await gatewayWorld({}, { tls });
  const port = await world.program((_, response) => {
    response.write("first", () => response.destroy());
  });
  world.sandbox("abc");
  const session = openHttp2(world, port);
  const stream = session.request({ ":path": "/" });
  await expect(text(stream)).rejects.toThrow(/NGHTTP2_INTERNAL_ERROR/);
  session.close();
});

test.each([
  ["a header twice that may be there once", "HTTP/1.1 200 OK\r\nDate: a\r\nDate: b\r\nContent-Length: 2\r\n\r\nok", 200],
  ["a status that there is not", "HTTP/1.1 099 What\r\nDate: a\r\nContent-Length: 2\r\n\r\nok", 502],
])("an answer with %s does no harm over HTTP/2", async (_, said, status) => {
  await using world = await gatewayWorld({}, { tls });
  const port = await world.program(createServer().on("connection", (socket: Socket) => socket.once("data", () => socket.end(said))));
  world.sandbox("abc");
  const session = openHttp2(world, port);
  const stream = session.request({ ":path": "/" });
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  expect(headers[":status"]).toBe(status);
  session.destroy();
});

test("unread bodies do not block a connection of HTTP/2", async () => {
  await using world = await gatewayWorld({}, { tls });
  world.sandbox("abc");
  const nothingListens = 1;
  const session = openHttp2(world, nothingListens);
  for (let n = 0; n < 20; n++) {
    const stream = session.request({ ":method": "POST", ":path": "/" });
    stream.end(Buffer.alloc(1_000_000));
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    expect(headers[":status"]).toBe(502);
    stream.resume();
    await once(stream, "close");
  }
  session.close();
});

test("an upgrade request with a body is answered", async () => {
  await using world = await gatewayWorld({}, { tls });
  const port = await world.program(async (request, response) => response.end(await text(request)));
  world.sandbox("abc");
  const headers = { host: host(port), connection: "Upgrade", upgrade: "h2c" };
  const outgoing = httpsRequest({
    host: "127.0.0.1",
    port: world.server.port,
    method: "POST",
    headers,
    ca: authority,
    servername: host(port),
  });
  outgoing.end("body");
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  expect(await text(response)).toBe("body");
});

test("HTTP/1.1 and WebSockets work on the same port", async () => {
  await using world = await gatewayWorld({}, { tls });
  const program = createServer((_, response) => response.end("plain old"));
  new WebSocketServer({ server: program }).on("connection", (socket) => socket.send("hello"));
  const port = await world.program(program);
  world.sandbox("abc");
  const options = { host: "127.0.0.1", port: world.server.port, servername: host(port), ca: authority, headers: { host: host(port) } };
  const outgoing = httpsRequest(options);
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  expect(await text(response)).toBe("plain old");
  const secure = { ca: authority, servername: host(port), headers: { host: host(port) } } as ConstructorParameters<typeof WebSocket>[2];
  const client = new WebSocket(`wss://127.0.0.1:${world.server.port}/`, [], secure);
  const [message] = (await once(client, "message")) as [Buffer];
  expect(message.toString()).toBe("hello");
  client.terminate();
});
