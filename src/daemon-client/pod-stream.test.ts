import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { openPodStream } from "./pod-stream.ts";

async function serve(
  listener: RequestListener,
): Promise<AsyncDisposable & { readonly at: { readonly ip: string; readonly port: number } }> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    at: { ip: "127.0.0.1", port },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const { signal } = new AbortController();

test("a request has its headers and body, and its answer has any status", async () => {
  await using pod = await serve((request, response) => {
    void text(request).then((body) =>
      response.writeHead(404, { "x-a": "1" }).end(`${request.method} ${request.url} ${String(request.headers["x-b"])} ${body}`),
    );
  });
  const answer = await openPodStream(pod.at, { method: "POST", path: "/a?b=c", headers: { "x-b": "2" }, body: "hi" }, signal);
  expect([answer.status, answer.headers["x-a"]]).toEqual([404, "1"]);
  expect(await text(answer.body)).toBe("POST /a?b=c 2 hi");
});

test("an answer is read as it comes, and leaving it closes the connection", async () => {
  let closed = false;
  await using pod = await serve((_, response) => {
    response.on("close", () => (closed = true));
    response.write("first");
  });
  const { body } = await openPodStream(pod.at, { method: "GET", path: "/" }, signal);
  for await (const piece of body) {
    expect(piece.toString()).toBe("first");
    break;
  }
  await expect.poll(() => closed).toBe(true);
});

test("a signal ends the wait for the answer, and its body, which then fails", async () => {
  const leaving = new AbortController();
  await using pod = await serve((request, response) => {
    if (request.url === "/body") response.write("first");
    else leaving.abort(new Error("gone"));
  });
  const later = new AbortController();
  const { body } = await openPodStream(pod.at, { method: "GET", path: "/body" }, later.signal);
  await expect(openPodStream(pod.at, { method: "GET", path: "/head" }, leaving.signal)).rejects.toThrow("gone");
  const reading = text(body);
  later.abort(new Error("gone"));
  await expect(reading).rejects.toThrow("aborted");
});

test("a pod that does not take the connection, or breaks it, fails the request", async () => {
  const gone = await serve(() => {});
  await gone[Symbol.asyncDispose]();
  await expect(openPodStream(gone.at, { method: "GET", path: "/" }, signal)).rejects.toThrow("ECONNREFUSED");
  await using pod = await serve((request) => request.socket.destroy());
  await expect(openPodStream(pod.at, { method: "GET", path: "/" }, signal)).rejects.toThrow("socket hang up");
});
