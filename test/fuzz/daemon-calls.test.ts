import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { attack } from "./fuzz.ts";
import { type CagedDaemon, cagedDaemon } from "./caged-daemon.ts";
import { oddConnection } from "./odd-heads.ts";
import { frameOf, type Method, methods, payloadFor } from "./odd-frames.ts";
import { oddText } from "./odd-values.ts";
import { exchange, headerText, type Heard, request } from "./raw-exchange.ts";

let daemon: CagedDaemon;
beforeAll(async () => {
  daemon = await cagedDaemon();
});
afterAll(async () => {
  await daemon[Symbol.asyncDispose]();
});

/**
 * What the protocol's clients know by these codes, and so not ours to name differently: input and size for what takes none (facts of
 * E2B's daemon), a message marked as compressed without a word about how (the protocol's own rule).
 */
const documented = /has no terminal|has no open stdin|takes no input|input of a terminal cannot be closed|marked as compressed/;

/** Of the 5xx: not there (501), and the caller's own time is over (504). */
function expectNoFailure({ text, statuses }: Heard): readonly number[] {
  const failures = statuses.filter((status) => status >= 500 && status !== 501 && status !== 504);
  const isFailed = failures.length > 0 || /"code":"(?:internal|unknown|data_loss)"/.test(text);
  expect(isFailed && !documented.test(text) ? text : "").toBe("");
  expect(daemon.complaints).toEqual([]);
  return statuses;
}

async function expectAlive(): Promise<void> {
  expect((await daemon.ask("GET /health", [])).statuses).toEqual([204]);
  const listed = await daemon.ask("POST /process.Process/List", [["Content-Type", "application/json"]], Buffer.from("{}"));
  expect(listed.statuses).toEqual([200]);
}

const encoding = fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, "identity", "gzip", "br", "");
/** A stream without an end of its time would never end. */
const patience = fc.constantFrom("20", "20", "20", "40", "40", "40", "-1", "1e3", "99999999999", "x", "20, 30");
const types = ["application/json", "application/proto", "application/connect+json", "application/connect+proto"] as const;
const type = fc.oneof(
  fc.constantFrom<string>(...types),
  fc.constantFrom("", "text/plain", "application/json; charset=latin1", "application/grpc"),
);
const user = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(undefined, undefined, "root:", "user:", "user:password", "") },
  { weight: 1, arbitrary: oddText.map((text) => text.slice(0, 200)) },
);
const more = fc.tuple(
  fc.constantFrom("connect-protocol-version", "keepalive-ping-interval", "x-access-token", "x-other"),
  oddText.map((text) => headerText(text).slice(0, 200)),
);

interface Call {
  readonly method: Method;
  readonly codec: "json" | "proto";
}
const call: fc.Arbitrary<Call> = fc.record({ method: fc.constantFrom(...methods), codec: fc.constantFrom("json", "json", "proto") });

function headersOf(contentType: string, given: Readonly<Record<string, string | undefined>>): (readonly [string, string])[] {
  const known = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  return [["Content-Type", contentType], ...known];
}

function authorization(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `Basic ${Buffer.from(name).toString("base64")}`;
}

test("no call, however wrong, ends the daemon, hangs, or is answered by a failure of its own", async () => {
  const input = call.chain((chosen) => {
    const isStream = chosen.method.kind !== "unary";
    const right = isStream ? `application/connect+${chosen.codec}` : `application/${chosen.codec}`;
    const payload = payloadFor(chosen.method, chosen.codec);
    return fc.record({
      method: fc.constant(chosen.method),
      type: fc.oneof({ weight: 5, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: type }),
      body: isStream ? fc.array(frameOf(payload), { maxLength: 3 }).map((frames) => Buffer.concat(frames)) : payload,
      timeout: patience,
      encoding,
      user,
      more,
    });
  });
  await attack(
    "calls to the daemon",
    input,
    async ({ method, type: contentType, body, timeout, encoding: coded, user: name, more: other }) => {
      const headers = headersOf(contentType, {
        "connect-timeout-ms": timeout,
        "content-encoding": method.kind === "unary" ? coded : undefined,
        "connect-content-encoding": coded,
        authorization: authorization(name),
      });
      return expectNoFailure(await daemon.ask(`POST /${method.path}`, [...headers, other], body));
    },
  );
  await expectAlive();
});

test("a stream that is cut, in pieces or too long ends alone", async () => {
  const streams = methods.filter(({ kind }) => kind !== "unary");
  const input = fc.constantFrom(...streams).chain((method) =>
    fc.record({
      method: fc.constant(method),
      frames: fc.array(frameOf(payloadFor(method, "json")), { minLength: 1, maxLength: 4 }),
      // More, less, or as much as is sent.
      length: fc.oneof(fc.constant(0), fc.integer({ min: -9, max: 200 })),
      pieces: fc.integer({ min: 1, max: 5 }),
    }),
  );
  await attack("frames of streams", input, async ({ method, frames, length, pieces }) => {
    const body = Buffer.concat(frames);
    const announced = Math.max(0, body.length + length);
    const headers = [
      ["Content-Type", "application/connect+json"],
      ["connect-timeout-ms", "30"],
      ["Content-Length", String(announced)],
    ] as const;
    const whole = Buffer.concat([request(`POST /${method.path}`, headers), body]);
    const step = Math.ceil(whole.length / pieces);
    const bytes = Array.from({ length: pieces }, (_, at) => whole.subarray(at * step, (at + 1) * step));
    return expectNoFailure(await exchange({ port: daemon.port, bytes, cut: true }));
  });
  await expectAlive();
});

test("no head, however it is written, ends the daemon or hangs in it", async () => {
  const parts = {
    hosts: ["127.0.0.1", "49983-mine.box.test"],
    routes: ["Content-Type: application/json", "Content-Type: application/connect+json", ""],
    paths: ["/health", "/files?path=/scratch/file", "/process.Process/List", "/envs", "/metrics", "/init", "/retire", "/nothing"],
  };
  await attack("heads to the daemon", oddConnection(parts), async (bytes) => {
    return expectNoFailure(await exchange({ port: daemon.port, bytes, cut: true }));
  });
  await expectAlive();
});
