import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { podNetwork } from "./pod-network.ts";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(handler: (request: IncomingMessage) => number | undefined): Promise<number> {
  server = createServer((request, response) => {
    const status = handler(request);
    if (status !== undefined) response.writeHead(status).write("a body that never ends");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const never = new AbortController().signal;
const get = (port: number, headers: readonly (readonly [string, string])[] = []) =>
  podNetwork.httpGet({ scheme: "http", address: "127.0.0.1", port, path: "/health?x=1", headers }, never);

test("a request is answered by its status; nobody waits for the body", async () => {
  const asked: IncomingMessage[] = [];
  const port = await serve((request) => {
    asked.push(request);
    return 503;
  });
  expect(await get(port, [["X-Key", "1"]])).toBe(503);
  expect(asked[0]).toMatchObject({ method: "GET", url: "/health?x=1", headers: { "x-key": "1", "user-agent": "agentbox-probe" } });
});

test("headers of the pod go before ours", async () => {
  let agent: string | undefined;
  const port = await serve(({ headers }) => {
    agent = headers["user-agent"];
    return 200;
  });
  await get(port, [["user-agent", "mine"]]);
  expect(agent).toBe("mine");
});

test("a port that nobody listens on is refused, over HTTP and bare", async () => {
  const port = await serve(() => 200);
  await podNetwork.connect("127.0.0.1", port, never);
  server?.closeAllConnections();
  server?.close();
  await expect(get(port)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await expect(podNetwork.connect("127.0.0.1", port, never)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test("a request that is not answered ends with the signal", async () => {
  const port = await serve(() => undefined);
  const stop = new AbortController();
  const answer = podNetwork.httpGet({ scheme: "http", address: "127.0.0.1", port, path: "/", headers: [] }, stop.signal);
  setImmediate(() => stop.abort(new Error("enough")));
  await expect(answer).rejects.toMatchObject({ name: "AbortError" });
});
