import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { gatewayWorld, send, to } from "../../test/world/gateway-world.ts";
import { type ApiAddress, isApiHost } from "./api-host.ts";

const host = "api.box.test";

async function withApi(at: () => ApiAddress | undefined) {
  return gatewayWorld({ api: { host, at } });
}

describe("the host api.<domain> is the API", () => {
  test("with method, path, body and key, however the host is written, and never a sandbox", async () => {
    let address: ApiAddress | undefined;
    await using world = await withApi(() => address);
    const port = await world.program(async (request, response) => {
      response.statusCode = 201;
      response.end([request.method, request.url, request.headers["x-api-key"], await text(request)].join(" "));
    });
    address = { host: "127.0.0.1", port };
    world.sandbox("abc");
    for (const name of [host, `${host}:8443`, "API.Box.Test", `${host}.`]) {
      const headers = { host: name, "x-api-key": "k", ...to("abc", 1) };
      const [response] = await send(world, { method: "POST", path: "/sandboxes/abc/80/x?y=1", headers, body: "hello" });
      expect([response.statusCode, await text(response)]).toEqual([201, "POST /sandboxes/abc/80/x?y=1 k hello"]);
    }
    expect(world.traffic.of("abc")).toBeUndefined();
  });

  test("which may be upgraded", async () => {
    let address: ApiAddress | undefined;
    await using world = await withApi(() => address);
    const server = createServer();
    new WebSocketServer({ server }).on("connection", (socket) =>
      socket.on("message", (data: Buffer) => socket.send(`heard ${data.toString()}`)),
    );
    address = { host: "127.0.0.1", port: await world.program(server) };
    const socket = new WebSocket(world.url.replace("http", "ws"), { headers: { host } });
    await once(socket, "open");
    socket.send("you");
    const [heard] = (await once(socket, "message")) as [Buffer];
    expect(heard.toString()).toBe("heard you");
    socket.terminate();
  });

  test("and where the API does not listen, or not yet, the client is told to come back", async () => {
    let address: ApiAddress | undefined;
    await using world = await withApi(() => address);
    const ask = async () => {
      const [response] = await send(world, { path: "/sandboxes", headers: { host } });
      return [response.statusCode, response.headers["retry-after"], JSON.parse(await text(response)) as unknown];
    };
    const away = [503, "1", { message: "The API is not available now", code: 503 }];
    expect(await ask()).toEqual(away);
    address = { host: "127.0.0.1", port: 1 };
    expect(await ask()).toEqual(away);
  });

  test.each([
    ["POST", {}, "false"],
    ["POST", { "idempotency-key": "k" }, undefined],
    ["GET", {}, undefined],
  ])("and where its answer to a %s with %j is lost, SDKs are told whether they may ask again", async (method, headers, shouldRetry) => {
    let address: ApiAddress | undefined;
    await using world = await withApi(() => address);
    address = { host: "127.0.0.1", port: await world.program((request) => request.socket.destroy()) };
    const [response] = await send(world, { method, path: "/v2/sandboxes", headers: { host, ...headers } });
    await text(response);
    expect([response.statusCode, response.headers["should-retry"]]).toEqual([503, shouldRetry]);
    expect(response.headers["retry-after"] === undefined).toBe(shouldRetry === "false");
  });
});

test("without an API, api.<domain> names no sandbox", async () => {
  await using world = await gatewayWorld();
  const [response] = await send(world, { headers: { host } });
  expect(response.statusCode).toBe(400);
});

test.each(["xapi.box.test", "api.box.test.evil.test", "80-abc.box.test", "api.box", "box.test", ""])("%s is not the API's host", (name) => {
  expect(isApiHost({ host, at: () => undefined }, name)).toBe(false);
});
