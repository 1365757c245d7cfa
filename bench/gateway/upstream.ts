/**
 * What listens in the sandbox: small answers as cheaply as they can be given, so that the proxy in between shows; and beside them a usual
 * server for what is long. Started by run.ts.
 */
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { WebSocketServer } from "ws";

const headEnd = Buffer.from("\r\n\r\n");
const answer = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: ${new Date().toUTCString()}\r\nContent-Length: 13\r\n\r\nhello, world\n`,
);

const small = createServer({ noDelay: true }, (socket) => {
  // One request at a time on a connection, none of them with a body: a head that ends is a request.
  socket.on("data", (chunk: Buffer) => {
    if (chunk.subarray(-headEnd.length).equals(headEnd)) socket.write(answer);
  });
  socket.on("error", () => socket.destroy());
});

const piece = Buffer.alloc(64 * 1024, "x");
const large = createHttpServer((request, response) => {
  if (request.method === "POST") {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => (bytes += chunk.length));
    request.on("end", () => response.end(String(bytes)));
    return;
  }
  let left = Number(new URL(request.url ?? "/", "http://x").searchParams.get("bytes"));
  response.setHeader("content-length", left);
  const more = (): void => {
    while (left > 0) {
      const next = left >= piece.length ? piece : piece.subarray(0, left);
      left -= next.length;
      if (!response.write(next)) {
        response.once("drain", more);
        return;
      }
    }
    response.end();
  };
  more();
});
const sockets = new WebSocketServer({ server: large, perMessageDeflate: false });
sockets.on("connection", (socket) => socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary })));

process.on("disconnect", () => process.exit(0));
const port = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 4096, resolve));
  return (server.address() as AddressInfo).port;
};
process.send?.({ small: await port(small), large: await port(large) });
