import { createServer, type AddressInfo, type Server } from "node:net";
import { connect as connectHttp2 } from "node:http2";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localCertificates } from "#gateway/local-certificates.ts";
import { systemClock } from "#lib/clock.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gatewayWorld, type GatewayWorld, get, to } from "../world/gateway-world.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { attack } from "./fuzz.ts";
import { oddText } from "./odd-values.ts";
import { exchange, headerText, patienceMs, request } from "./raw-exchange.ts";

const logged = recordedLog();
let folder: string;
let plain: GatewayWorld;
let encrypted: GatewayWorld;
let program: Server;
let port: number;
/** What the program says next, whatever it is asked. */
let next: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-fuzz-"));
  const { certificate: tls } = await localCertificates(folder, "box.test", systemClock);
  plain = await gatewayWorld({ log: logged.log });
  encrypted = await gatewayWorld({ log: logged.log }, { tls });
  program = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => socket.end(next));
  });
  await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
  port = (program.address() as AddressInfo).port;
  plain.sandbox("mine");
  encrypted.sandbox("mine");
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await encrypted[Symbol.asyncDispose]();
  await new Promise((resolve) => program.close(resolve));
  await rm(folder, { recursive: true });
});

const line = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("200 OK", "204 No Content", "206 Partial", "304 Not Modified", "404 Not Found", "500 Failed", "200 ", "200"),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "101 Switching",
      "100 Continue",
      "103 Early",
      "099 x",
      "000",
      "999 x",
      "1000 x",
      "-20 x",
      "20",
      "abc",
      "200 \x80\xff",
    ),
  },
);
const header = fc.oneof(
  fc.constantFrom(
    "Content-Length: 4",
    "Content-Length: 0",
    "Content-Length: 9",
    "Content-Length: 4, 4",
    "Content-Length: x",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip",
    "Trailer: X-T",
    "Connection: close",
    "Connection: X-A, content-length",
    "Upgrade: websocket",
    "Keep-Alive: timeout=99999",
    "Set-Cookie: a=b",
    "Set-Cookie: c=d",
    "Content-Type: text/plain",
    "Content-Type: text/html",
    "ETag: a",
    "ETag: b",
    "Location: //evil.test",
    "Date: never",
    "Age: 1",
    "Age: 2",
    "Retry-After: 1",
    "Retry-After: 2",
    ":status: 200",
    "X A: 1",
    "X-A : 1",
    "X-\xff: 1",
    "X: \x01",
    "X: a\rb",
    " folded",
    "Proxy-Authenticate: x",
    "HTTP2-Settings: x",
    "TE: gzip",
    "Access-Control-Allow-Origin: x",
  ),
  fc.tuple(fc.stringMatching(/^[!#$%&'*+.^_`|~\w-]{1,12}$/), oddText).map(([name, value]) => `${name}: ${headerText(value).slice(0, 300)}`),
  fc.constantFrom(20_000, 200_000).map((length) => `X-Long: ${"a".repeat(length)}`),
);
const body = fc.constantFrom(
  "",
  "text",
  "4\r\ntext\r\n0\r\n\r\n",
  "4\r\ntext\r\n0\r\nX-T: 1\r\n\r\n",
  "4\r\ntext\r\n0\r\nConnection: x\r\n:path: y\r\n\r\n",
  "zz\r\n",
  "4\r\nte",
  "HTTP/1.1 200 OK\r\n\r\n",
);
const answer = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .record({
        first: fc.constantFrom("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2", "ICY"),
        line,
        headers: fc.array(header, { maxLength: 4 }),
        body,
      })
      .map((given) =>
        Buffer.from(`${given.first} ${given.line}\r\n${given.headers.map((own) => `${own}\r\n`).join("")}\r\n${given.body}`, "latin1"),
      ),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)) },
);

/** Over HTTP/2 as well: what it takes of headers is another thing. */
async function overHttp2(method: string): Promise<readonly number[]> {
  const session = connectHttp2(`https://127.0.0.1:${encrypted.server.port}`, { rejectUnauthorized: false });
  session.on("error", () => {});
  const stream = session.request({ ":method": method, ...to("mine", port) });
  const statuses: number[] = [];
  stream.on("response", (headers) => statuses.push(Number(headers[":status"])));
  stream.on("error", () => {});
  stream.resume();
  stream.end();
  await new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`no end after ${patienceMs} ms`)), patienceMs);
    stream.once("close", () => {
      clearTimeout(late);
      resolve(undefined);
    });
  });
  session.destroy();
  return statuses;
}

test("no program in a sandbox, whatever it answers, ends the gateway or hangs in it", async () => {
  const input = fc.record({
    answer,
    method: fc.constantFrom("GET", "GET", "HEAD", "POST"),
    how: fc.constantFrom("plain", "plain", "old", "upgrade", "http2"),
  });
  await attack("answers to the gateway", input, async (given) => {
    next = given.answer;
    if (given.how === "http2") return overHttp2(given.method);
    const upgrade =
      given.how === "upgrade"
        ? [["Connection", "Upgrade"] as const, ["Upgrade", "websocket"] as const]
        : [["Connection", "close"] as const];
    const head = request(`${given.method} /`, [...Object.entries(to("mine", port)), ...upgrade])
      .toString("latin1")
      .replace("Connection: close\r\n", "");
    const bytes = Buffer.from(given.how === "old" ? head.replace("HTTP/1.1", "HTTP/1.0") : head, "latin1");
    // What became something else than HTTP ends when the client does.
    const { statuses } = await exchange({ port: plain.server.port, bytes: [bytes], cut: given.how === "upgrade" });
    expect(logged.lines.filter(({ level }) => level === "error")).toEqual([]);
    return statuses;
  });
  next = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine");
  expect((await get(plain, "/", to("mine", port))).body).toBe("fine");
  expect(await overHttp2("GET")).toEqual([200]);
});
