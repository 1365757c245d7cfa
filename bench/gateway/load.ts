/** The load: keeps connections open and asks again when an answer has come. As cheap as can be, so that it is not what is measured. Started by run.ts. */
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { WebSocket } from "ws";
import type { Loaded, LoadOrder, Way } from "./orders.ts";

type Ask = (done: () => void) => void;

const headEnd = Buffer.from("\r\n\r\n");
const bodyLength = 13;

/** Raw: a client of Node costs more than any of the proxies. */
function requester({ port, headers }: Way): Promise<Ask> {
  const lines = Object.entries({ Host: "127.0.0.1", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(`GET / HTTP/1.1\r\n${lines.join("")}\r\n`);
  return new Promise((resolve, reject) => {
    let finish = (): void => {};
    let held: Buffer = Buffer.alloc(0);
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed the connection")));
    socket.on("data", (chunk: Buffer) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const end = held.indexOf(headEnd);
      if (end < 0 || held.length < end + headEnd.length + bodyLength) return;
      if (held.toString("latin1", 9, 12) !== "200") throw new Error(held.toString("latin1"));
      held = held.subarray(end + headEnd.length + bodyLength);
      finish();
    });
    socket.on("connect", () =>
      resolve((done) => {
        finish = done;
        socket.write(bytes);
      }),
    );
  });
}

function echo({ port, headers }: Way): Promise<Ask> {
  return new Promise((resolve, reject) => {
    let finish = (): void => {};
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers, perMessageDeflate: false });
    socket.on("error", reject);
    socket.on("message", () => finish());
    socket.on("open", () =>
      resolve((done) => {
        finish = done;
        socket.send("hello, world\n");
      }),
    );
  });
}

async function again(order: Extract<LoadOrder, { readonly seconds: number }>): Promise<Loaded> {
  const open = order.kind === "requests" ? requester : echo;
  const asks = await Promise.all(Array.from({ length: order.connections }, () => open(order)));
  const ms: number[] = [];
  const began = performance.now();
  const until = began + order.seconds * 1000;
  await Promise.all(
    asks.map(
      (ask) =>
        new Promise<void>((resolve) => {
          const next = (since: number): void =>
            ask(() => {
              const now = performance.now();
              ms.push(now - since);
              if (now < until) next(now);
              else resolve();
            });
          next(performance.now());
        }),
    ),
  );
  return { count: ms.length, seconds: (performance.now() - began) / 1000, ms };
}

async function once(order: Extract<LoadOrder, { readonly bytes: number }>): Promise<Loaded> {
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: order.connections }, () => (order.kind === "down" ? download(order) : upload(order))));
  return { count: all.reduce((sum, bytes) => sum + bytes, 0), seconds: (performance.now() - began) / 1000, ms: [] };
}

function download({ port, headers, bytes }: Extract<LoadOrder, { readonly bytes: number }>): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, path: `/?bytes=${bytes}`, headers, agent: false }, (response) => {
      let read = 0;
      response.on("data", (chunk: Buffer) => (read += chunk.length));
      response.on("end", () => (read === bytes ? resolve(read) : reject(new Error(`${read} of ${bytes} bytes came`))));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

const piece = Buffer.alloc(64 * 1024, "x");

function upload({ port, headers, bytes }: Extract<LoadOrder, { readonly bytes: number }>): Promise<number> {
  return new Promise((resolve, reject) => {
    const about = { ...headers, "content-length": String(bytes) };
    const outgoing = httpRequest({ host: "127.0.0.1", port, path: "/", method: "POST", headers: about, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => (Number(text) === bytes ? resolve(bytes) : reject(new Error(`${text} of ${bytes} bytes arrived`))));
    });
    outgoing.on("error", reject);
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        const next = left >= piece.length ? piece : piece.subarray(0, left);
        left -= next.length;
        if (!outgoing.write(next)) {
          outgoing.once("drain", more);
          return;
        }
      }
      outgoing.end();
    };
    more();
  });
}

process.on("disconnect", () => process.exit(0));
process.on("message", (order: LoadOrder) => {
  const loaded = "seconds" in order ? again(order) : once(order);
  void loaded.then((told) => process.send?.(told));
});
