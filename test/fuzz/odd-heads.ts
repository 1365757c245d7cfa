/** Heads of requests, byte by byte: some that are right, some that two readers would understand in two ways, some that are nothing at all. */
import fc from "fast-check";
import { oddText } from "./odd-values.ts";
import { headerText } from "./raw-exchange.ts";

/** The path of a smuggled request: a server behind the gateway that sees it was deceived. */
const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: other\r\nE2b-Sandbox-Port: 80\r\n\r\n";

const body = fc.constantFrom(
  "",
  "text",
  "0\r\n\r\n",
  `0\r\n\r\n${smuggled}`,
  `4\r\ntext\r\n0\r\n\r\n`,
  smuggled,
  `ffffffffffffffff\r\ntext`,
  "4;x=y\r\ntext\r\n0\r\nT: 1\r\n\r\n",
);

/** Ways to tell how long a body is, of which a request may have one. */
const framing = fc.constantFrom(
  "Content-Length: 0",
  "Content-Length: 4",
  "Content-Length: 5",
  "Content-Length: +4",
  "Content-Length: 4, 4",
  "Content-Length: 0x4",
  "Content-Length: 4 4",
  "Content-Length: -1",
  "Content-Length:",
  "Content-Length : 4",
  "Content-Length: 99999999999999999999",
  "Content-length: 4\r\nContent-Length: 4",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: Chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding:\tchunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding : chunked",
  " Transfer-Encoding: chunked",
  "Transfer-Encoding\n: chunked",
  "Transfer-Encoding: chunked\r\n x",
  "X: y\nTransfer-Encoding: chunked",
  "X: y\rTransfer-Encoding: chunked",
  "Transfer_Encoding: chunked",
  "Transfer-Encoding: chunked\0",
);

const about = fc.oneof(
  fc.constantFrom(
    "Expect: 100-continue",
    "Expect: nothing",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    "Connection: host",
    "Connection: content-length",
    "Connection: authorization, cookie, x-forwarded-for",
    "Connection: transfer-encoding",
    "TE: trailers",
    "X-Forwarded-For: 10.0.0.1",
    "X-Forwarded-Host: evil.test",
    "Proxy-Connection: keep-alive",
    "Keep-Alive: timeout=1",
    "Trailer: Content-Length",
    "Range: bytes=0-",
    "Accept: text/html",
    "Cookie: a=b",
    ":method: GET",
    "Host: again",
    "\0: x",
    "X-\xff: \xff",
    "X: \x01",
  ),
  fc.tuple(fc.stringMatching(/^[!#$%&'*+.^_`|~\w-]{1,12}$/), oddText).map(([name, value]) => `${name}: ${headerText(value)}`),
  fc.nat(70_000).map((length) => `X-Long: ${"a".repeat(length)}`),
  fc.nat(3000).map((count) => Array.from({ length: count }, (_, at) => `X-${at}: ${at}`).join("\r\n")),
);

export interface HeadParts {
  /** Right ones, and anything beside them. */
  readonly hosts: readonly string[];
  readonly routes: readonly string[];
  readonly paths: readonly string[];
}

const oddHost = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "a b",
    "a,b",
    "a/b",
    "user@host.test",
    "a_b",
    "[::1]",
    "[::1",
    "host:99999",
    "host:port",
    "..",
    "xn--",
    "x".repeat(300),
    "a\0b",
    "80-other.test",
  ),
  oddText.map((text) => headerText(text).slice(0, 300)),
);
const oddTarget = fc.oneof(
  fc.constantFrom(
    "*",
    "http://other.test/",
    "//other/x",
    "/a b",
    "/%00",
    "/..%2f..",
    "/\\..\\",
    "?x",
    "#x",
    "/\x80",
    "/sandboxes/other/80/",
    "/sandboxes/../80/x",
  ),
  oddText.map((text) => `/${encodeURIComponent(text.toWellFormed())}`),
  fc.constantFrom(100, 60_000, 90_000).map((length) => `/${"p".repeat(length)}`),
);
const method = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "PATCH") },
  { weight: 1, arbitrary: fc.constantFrom("CONNECT", "TRACE", "get", "G ET", "", "PRI", "\0", "M-SEARCH", "X".repeat(200)) },
);
const version = fc.oneof(
  { weight: 12, arbitrary: fc.constant("HTTP/1.1") },
  { weight: 1, arbitrary: fc.constantFrom("HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "http/1.1", "") },
);

/** Mostly right, and so what is wrong gets far. */
const mostly = <T>(right: fc.Arbitrary<T>, wrong: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: wrong });

export function oddRequest({ hosts, routes, paths }: HeadParts): fc.Arbitrary<Buffer> {
  return fc
    .record({
      method,
      target: mostly(fc.constantFrom(...paths), oddTarget),
      version,
      host: mostly(
        fc.constantFrom(...hosts).map((host) => `Host: ${host}`),
        fc.oneof(
          oddHost.map((host) => `Host: ${host}`),
          fc.constant("X: no host"),
        ),
      ),
      route: fc.constantFrom(...routes),
      framing: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: fc.array(framing, { maxLength: 2 }) }),
      about: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: fc.array(about, { maxLength: 2 }) }),
      end: mostly(fc.constant("\r\n"), fc.constantFrom("\n", "\r", "\r\n\r\n")),
      body,
    })
    .map((given) => {
      const lines = [`${given.method} ${given.target} ${given.version}`, given.host, given.route, ...given.about, ...given.framing].filter(
        (line) => line !== "",
      );
      return Buffer.from(`${lines.join(given.end)}${given.end}${given.end}${given.framing.length === 0 ? "" : given.body}`, "latin1");
    });
}

/** One or several requests on a connection, or no request at all. */
export function oddConnection(parts: HeadParts): fc.Arbitrary<readonly Buffer[]> {
  const one = oddRequest(parts);
  const torn = fc.tuple(one, fc.nat(300)).map(([bytes, at]) => [bytes.subarray(0, at), bytes.subarray(at)]);
  const junk = fc.uint8Array({ maxLength: 200 }).map((bytes) => [Buffer.from(bytes), Buffer.from("\r\n\r\n")]);
  return fc.oneof(
    { weight: 6, arbitrary: one.map((bytes) => [bytes]) },
    { weight: 2, arbitrary: fc.array(one, { minLength: 2, maxLength: 3 }).map((all) => [Buffer.concat(all)]) },
    { weight: 1, arbitrary: torn },
    { weight: 1, arbitrary: junk },
  );
}
