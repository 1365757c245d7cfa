import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { OwnSockets, parseInUse, SocketCount } from "./socket-count.ts";

function counted(own = 2) {
  const seen = { inUse: own as number | undefined, own };
  const count = new SocketCount(
    () => seen.own,
    () => seen.inUse,
  );
  return { seen, count };
}

test("while a sandbox has no sockets but the daemon's, there is nothing to look for", () => {
  const { seen, count } = counted();
  const looks = Array.from({ length: 20 }, () => count.mayHaveChanged());
  seen.own = seen.inUse = 5;
  expect([...looks, count.mayHaveChanged()]).toEqual(Array(21).fill(false));
});

test("a new socket of another program triggers one search, and its end another", () => {
  const { seen, count } = counted();
  seen.inUse = 3;
  expect([count.mayHaveChanged(), count.mayHaveChanged()]).toEqual([true, false]);
  seen.inUse = 2;
  expect([count.mayHaveChanged(), count.mayHaveChanged()]).toEqual([true, false]);
});

test("what comes while the like of it goes is found at the tenth look", () => {
  const { seen, count } = counted();
  seen.inUse = 3;
  const looks = Array.from({ length: 21 }, () => count.mayHaveChanged());
  expect(looks.flatMap((mayHave, index) => (mayHave ? [index] : []))).toEqual([0, 10, 20]);
});

test("where the system does not count, every look is a look", () => {
  const { seen, count } = counted();
  seen.inUse = undefined;
  expect([count.mayHaveChanged(), count.mayHaveChanged(), count.mayHaveChanged()]).toEqual([true, true, true]);
});

test("the sockets of a server are its place and its connections", async () => {
  const own = new OwnSockets();
  const server = createServer((socket) => socket.resume());
  own.add(server);
  expect(own.count).toBe(0);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  expect(own.count).toBe(1);
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  expect(own.count).toBe(2);
  client.end();
  await once(socket, "close");
  expect(own.count).toBe(1);
  server.close();
  expect(own.count).toBe(0);
});

test("the kernel's count is that of TCP alone, of both families", () => {
  const four = "sockets: used 9\nTCP: inuse 3 orphan 0 tw 7 alloc 321 mem 357\nUDP: inuse 4 mem 0\nRAW: inuse 0\n";
  expect(parseInUse(four)).toBe(3);
  expect(parseInUse("TCP6: inuse 2\nUDP6: inuse 5\n")).toBe(2);
  expect(parseInUse("")).toBe(0);
});
