import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startDaemon, type Daemon } from "./daemon.ts";

const token = "a-token-nobody-guesses";
const runs = Number(process.env["AGENTBOX_FUZZ_RUNS"] ?? 300);
let locked: Daemon;
let open: Daemon;
beforeAll(async () => {
  locked = await startDaemon({ accessToken: token });
  open = await startDaemon({ defaultUser: "nobody" });
});
afterAll(async () => {
  await locked[Symbol.asyncDispose]();
  await open[Symbol.asyncDispose]();
});

async function isAlive(daemon: Daemon): Promise<boolean> {
  return (await fetch(`${daemon.url}/health`)).status === 204;
}

const methods = [
  "process.Process/Start",
  "process.Process/Connect",
  "process.Process/StreamInput",
  "process.Process/SendInput",
  "filesystem.Filesystem/Stat",
  "filesystem.Filesystem/WatchDir",
  "filesystem.Filesystem/ListDir",
];
const types = ["application/json", "application/proto", "application/connect+json", "application/connect+proto", "text/plain", ""];

test("no frame, however wrong, is answered by a failure of the server", async () => {
  const flags = fc.constantFrom(0, 1, 2, 3, 255);
  const frame = fc
    .tuple(
      flags,
      fc.option(fc.nat(200)),
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
    )
    .map(([flag, length, payload]) => {
      const head = Buffer.alloc(5);
      head.writeUInt8(flag, 0);
      head.writeUInt32BE(length ?? payload.length, 1);
      return Buffer.concat([head, payload]);
    });
  const body = fc.oneof(
    fc.array(frame, { maxLength: 4 }).map((frames) => Buffer.concat(frames)),
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...methods),
      fc.constantFrom(...types),
      body,
      fc.constantFrom("", "gzip", "br"),
      async (method, type, bytes, encoding) => {
        const headers = {
          "content-type": type,
          "connect-timeout-ms": "300",
          ...(encoding === "" ? {} : { "content-encoding": encoding, "connect-content-encoding": encoding }),
        };
        const answer = await fetch(`${open.url}/${method}`, { method: "POST", headers, body: bytes });
        const text = await answer.text();
        expect([200, 400, 401, 404, 409, 415, 429, 501, 504]).toContain(answer.status);
        expect(text).not.toContain('"internal"');
      },
    ),
    { numRuns: runs },
  );
  expect(await isAlive(open)).toBe(true);
});

test("no form, however wrong, is answered by a failure of the server", async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "--b",
      "--b\r\n",
      "--b--",
      "\r\n",
      "\r\n\r\n",
      'Content-Disposition: form-data; name="file"; filename="',
      "filename*=utf-8''%zz",
      '"',
      "\0",
      "/../..",
      "contents",
    ),
    fc.string({ maxLength: 20 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.constantFrom("b", '"b"', "", "c"), async (pieces, boundary) => {
      const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
      const answer = await fetch(`${open.url}/files?path=/proc/no/such/place&username=root`, {
        method: "POST",
        headers,
        body: pieces.join(""),
      });
      await answer.arrayBuffer();
      expect(answer.status).toBeLessThan(500);
    }),
    { numRuns: runs },
  );
  expect(await isAlive(open)).toBe(true);
});

test("no path, user or range, however wrong, is answered by a failure of the server", async () => {
  const path = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc
      .array(fc.constantFrom("..", ".", "~", "etc", "\0", "proc/self/fd/3", "a".repeat(300), "%00", ""), { maxLength: 9 })
      .map((parts) => parts.join("/")),
  );
  await fc.assert(
    fc.asyncProperty(path, fc.option(fc.string()), fc.string({ maxLength: 12 }), async (name, user, range) => {
      const query = new URLSearchParams({ path: name, ...(user === null ? {} : { username: user }) }).toString();
      const answer = await fetch(`${open.url}/files?${query}`, { headers: { range: `bytes=${encodeURIComponent(range)}` } });
      await answer.body?.cancel();
      expect(answer.status).toBeLessThan(500);
    }),
    { numRuns: runs },
  );
  expect(await isAlive(open)).toBe(true);
});

test("no signature or token but the right one opens anything", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string(),
      fc.option(fc.nat()),
      fc.option(fc.stringMatching(/^[\x21-\x7e]{1,30}$/)),
      async (signature, expiration, given) => {
        const query = new URLSearchParams({
          path: "/etc/passwd",
          signature: `v1_${signature}`,
          ...(expiration === null ? {} : { signature_expiration: String(expiration) }),
        });
        const answer = await fetch(`${locked.url}/files?${query.toString()}`, {
          headers: given === null ? {} : { "x-access-token": given },
        });
        await answer.arrayBuffer();
        expect(answer.status).toBe(401);
      },
    ),
    { numRuns: runs },
  );
  expect(await isAlive(locked)).toBe(true);
});

test("bytes that are no HTTP end their connection and nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      const socket = connect(Number(new URL(open.url).port), "127.0.0.1");
      socket.on("error", () => {});
      socket.end(Buffer.concat([bytes, Buffer.from("\r\n\r\n")]));
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
    }),
    { numRuns: 50 },
  );
  expect(await isAlive(open)).toBe(true);
});
