import { once } from "node:events";
import { Agent, type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type GatewayWorld, gatewayWorld, to } from "../../test/world/gateway-world.ts";

/** Over a connection that is kept for the next request, if the gateway lets it. */
async function ask(world: GatewayWorld, agent: Agent, headers: Record<string, string>): Promise<IncomingMessage> {
  const outgoing = httpRequest({ host: "127.0.0.1", port: world.server.port, agent, headers });
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  return response;
}

test("a gateway that hands over answers as before, and says with each answer that the connection ends", async () => {
  await using world = await gatewayWorld();
  const go = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const port = await world.program(async (request, response) => {
    if (request.headers["x-slow"] !== undefined) {
      asked.resolve();
      await go.promise;
    }
    response.end("here");
  });
  world.sandbox("abc");
  const agent = new Agent({ keepAlive: true });
  const headers = to("abc", port);
  const before = await ask(world, agent, headers);
  expect([await text(before), before.headers.connection]).toEqual(["here", "keep-alive"]);
  const underWay = ask(world, new Agent({ keepAlive: true }), { ...headers, "x-slow": "yes" });
  await asked.promise;

  world.server.handOver();
  const after = await ask(world, agent, headers);
  expect([await text(after), after.headers.connection]).toEqual(["here", "close"]);
  const another = await ask(world, agent, headers);
  expect([await text(another), another.headers.connection]).toEqual(["here", "close"]);
  go.resolve();
  const late = await underWay;
  expect([await text(late), late.headers.connection]).toEqual(["here", "close"]);
  agent.destroy();
});

test("one that ends lets a stream come to its end, and answers a request that follows on its connection", async () => {
  await using world = await gatewayWorld();
  const go = Promise.withResolvers<void>();
  const port = await world.program(async (request, response) => {
    if (request.url === "/stream") {
      response.write("first ");
      await go.promise;
    }
    response.end("last");
  });
  world.sandbox("abc");
  const socket = connect(world.server.port, "127.0.0.1");
  const head = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: ${port}-abc.box.test\r\n\r\n`;
  let seen = "";
  const until = (what: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => void (seen.includes(what) && resolve());
      socket.on("data", look);
      look();
    });
  socket.on("data", (chunk: Buffer) => (seen += chunk.toString()));
  socket.write(head("/stream"));
  await until("first ");
  const closed = world.server.close(60_000);
  go.resolve();
  await until("last");
  socket.write(head("/next"));
  await Promise.all([until("Connection: close"), once(socket, "close"), closed]);
  expect(seen.match(/last/g)).toHaveLength(2);
});
